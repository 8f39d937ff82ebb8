// Makes senders from the loaded plugins and the operator's settings.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "breadcrumbs/breadcrumb_file.h"
#include "config/config.h"
#include "egress/egress_policy.h"
#include "execute/plugin_violations.h"
#include "execute/sender.h"
#include "senders/catalogue.h"
#include "senders/plugin_counters.h"
#include "senders/text_services.h"
#include "services/oauth2_tokens.h"
#include "services/secrets.h"
#include "services/transports.h"

namespace waybill {

class PluginSender;
class ProcessPlugin;
struct SenderParts;
struct StandIn;

// Safe from any thread. The catalogue, clock, log and metrics outlive it and its senders.
class PluginSenderFactory final : public SenderFactory {
 public:
  PluginSenderFactory(const Catalogue& catalogue, const Config& config, std::shared_ptr<const LiveSecrets> secrets,
                      TextServices texts, const Clock& clock, Log& log, Metrics& metrics,
                      std::shared_ptr<BreadcrumbFile> breadcrumbs = nullptr, TransportSource transport = {},
                      OAuth2Tokens::TransportOf oauth2_transport = {}, std::shared_ptr<const StandIn> stand_in = nullptr);
  ~PluginSenderFactory() override;

  Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) override;

  // ---- new versions of plugins, and new settings ----

  // What senders are made by. `catalogue` is that of a reload, whose contents come in force with these terms.
  struct Terms;
  std::shared_ptr<Terms> terms_of(std::shared_ptr<const Catalogue> catalogue, const Config& config) const;
  // The action types for which the terms make other senders than those in force do. Only such that run in processes then, or did.
  std::vector<std::string> changed_types(const Terms& next) const;
  // Makes a sender of this action type by these terms, and destroys it. An error says why that cannot be.
  Result<void> try_out(const std::shared_ptr<Terms>& terms, const std::string& action_type);
  void take(std::shared_ptr<Terms> next);  // all senders that are made from now on

  // `wait`: for a process of the plugin's own that is starting.
  Result<std::unique_ptr<PluginSender>> make_plugin_sender(const std::string& action_type, Completions& completions,
                                                           Millis wait = Millis{30'000});
  std::size_t senders(std::string_view action_type) const override;  // 0 if no plugin has it
  std::size_t calls_per_sender(std::string_view action_type) const override;

 private:
  std::shared_ptr<Terms> terms() const;
  Result<std::unique_ptr<PluginSender>> make_by(const std::shared_ptr<Terms>& terms, const std::string& action_type,
                                                Completions& completions, Millis wait);
  Result<std::unique_ptr<PluginSender>> make_in_process(const std::shared_ptr<Terms>& terms,
                                                        std::shared_ptr<ProcessPlugin> plugin, SenderParts parts, Millis wait);

  const Limits limits_;
  const Millis max_retry_after_;
  const bool records_spans_;
  const std::shared_ptr<const EgressPolicy> egress_;
  const std::shared_ptr<const LiveSecrets> secrets_;
  const std::shared_ptr<const Vault> vault_;
  const TextServices texts_;
  const Clock& clock_;
  Log& log_;
  const std::shared_ptr<PluginViolations> violations_;
  const std::shared_ptr<PluginCounters> counters_;
  const std::shared_ptr<BreadcrumbFile> breadcrumbs_;  // null: none are written
  const TransportSource transport_;
  const std::shared_ptr<OAuth2Tokens> oauth2_;
  const std::shared_ptr<const StandIn> stand_in_;  // null: what plugins send goes out
  mutable std::mutex mutex_;
  std::shared_ptr<Terms> terms_;  // guarded by mutex_
};

}  // namespace waybill
