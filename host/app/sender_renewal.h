// New versions of plugins in processes, and new settings of their senders, without a restart.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "api/admin_routes.h"
#include "config/config.h"
#include "execute/executor.h"
#include "senders/sender_factory.h"

namespace waybill {

// One thread at a time, but for draining().
class SenderRenewal {
 public:
  SenderRenewal(const Config& config, Catalogue& catalogue, PluginSenderFactory& factory, Executor& executor, Log& log,
                Metrics& metrics)
      : config_(std::make_shared<const Config>(config)),
        catalogue_(catalogue),
        factory_(factory),
        executor_(executor),
        log_(log),
        metrics_(metrics) {}

  // What the configuration's file and the plugins' folder say now. Nothing is in force yet.
  struct Next {
    Config config;  // as it was at start, but for what a reload takes up
    std::shared_ptr<Catalogue> catalogue;
    std::shared_ptr<PluginSenderFactory::Terms> terms;
    std::vector<PluginChange> changes;
    Problems warnings;  // what only a restart takes up, and files that cannot be used
  };
  tl::expected<Next, Problems> prepare() const;
  // Makes each sender that would change once. What refuses is named, where it is set.
  Problems try_out(const Next& next);
  void take(Next next);  // new work goes to the new senders; what the old ones have they finish

  // [any thread] Versions that still have open calls of an action type, oldest first.
  std::vector<std::string> draining(const std::string& action_type);

 private:
  Config merged(const Config& fresh, const Catalogue& next, Problems& warnings) const;

  std::shared_ptr<const Config> config_;  // in force
  Catalogue& catalogue_;
  PluginSenderFactory& factory_;
  Executor& executor_;
  Log& log_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> replaced_;  // by action type; guarded by mutex_
};

}  // namespace waybill
