// When the check of failures is started.
#include "app/failure_check_process.h"

namespace waybill {
namespace {

constexpr Millis kLookEvery{5'000};

}  // namespace

FailureCheckProcess::FailureCheckProcess(const Config& config, FailureCheckStore& store,
                                         std::function<std::optional<HostId>()> host, const Clock& clock, Log& log)
    : config_(config.file),
      schedule_(config.failure_check.schedule, config.failure_check.time_zone),
      store_(store),
      host_(std::move(host)),
      log_(log),
      process_({"failure_check.started", "failure_check.failed", "failure_check.died"}, clock, log) {}

// Tells this host's schedule, and says in the log when another host's holds.
Result<void> FailureCheckProcess::compare() {
  const auto host = host_();
  if (host && told_ != host) {
    TRY(store_.tell(*host, schedule_.text()));
    told_ = host;
  }
  auto other = schedule_.other(store_);
  TRY(other);
  if (*other != other_ && !other->empty())
    log_.warn("failure_check.schedule_differs", {{"here", schedule_.text()},
                                                 {"newest_host", *other},
                                                 {"effect", "the newest host's holds"},
                                                 {"remedy", "give all hosts the same failure_check.schedule and time_zone"}});
  other_ = std::move(*other);
  return {};
}

PeriodicTask FailureCheckProcess::task() {
  return {.name = "failure_check",
          .every = kLookEvery,
          .run = [this]() -> Result<void> {
            if (process_.is_running()) return {};
            TRY(compare());
            const auto wanted = schedule_.is_wanted(store_);
            TRY(wanted);
            if (!*wanted) return {};
            std::vector<std::string> words{"failures", "check", "--due"};
            if (!config_.empty()) words.insert(words.end(), {"--config", config_.string()});
            return process_.start(std::move(words));
          },
          .is_bounded = true};
}

}  // namespace waybill
