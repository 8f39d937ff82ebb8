// Makes senders from the loaded plugins and the operator's settings.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

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
namespace plugin_process {
class ReadyProcesses;
}

// Safe from any thread. The catalogue, clock, log and metrics outlive it and its senders.
class PluginSenderFactory final : public SenderFactory {
 public:
  PluginSenderFactory(const Catalogue& catalogue, const Config& config, std::shared_ptr<const LiveSecrets> secrets,
                      TextServices texts, const Clock& clock, Log& log, Metrics& metrics,
                      std::shared_ptr<BreadcrumbFile> breadcrumbs = nullptr, TransportSource transport = {},
                      OAuth2Tokens::TransportOf oauth2_transport = {}, std::shared_ptr<const StandIn> stand_in = nullptr);
  ~PluginSenderFactory() override;

  Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) override;
  // `wait`: for a process of the plugin's own that is starting.
  Result<std::unique_ptr<PluginSender>> make_plugin_sender(const std::string& action_type, Completions& completions,
                                                           Millis wait = Millis{30'000});
  std::size_t senders(std::string_view action_type) const override;  // 0 if no plugin has it
  std::size_t calls_per_sender(std::string_view action_type) const override;

 private:
  Isolation isolation_of(std::string_view action_type) const;
  plugin_process::ReadyProcesses& processes_of(ProcessPlugin& plugin, const std::string& action_type);
  Result<std::unique_ptr<PluginSender>> make_in_process(ProcessPlugin& plugin, SenderParts parts, Millis wait);

  const Catalogue& catalogue_;
  const std::map<std::string, std::string> settings_;
  const Isolations isolations_;
  const std::map<std::string, std::set<std::string, std::less<>>> readable_secrets_;
  const Limits limits_;
  const Millis max_retry_after_;
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
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<plugin_process::ReadyProcesses>> processes_;  // by action type; guarded by mutex_
  std::set<std::string> hanging_;  // action types whose create never returned; guarded by mutex_
};

}  // namespace waybill
