// When the check of failures is started.
#include "app/failure_check_process.h"

namespace waybill {
namespace {

constexpr Millis kLookEvery{5'000};

}  // namespace

FailureCheckProcess::FailureCheckProcess(const Config& config, FailureCheckStore& store, const Clock& clock, Log& log)
    : config_(config.file),
      schedule_(config.failure_check.schedule, config.failure_check.time_zone),
      store_(store),
      process_({"failure_check.started", "failure_check.failed", "failure_check.died"}, clock, log) {}

PeriodicTask FailureCheckProcess::task() {
  return {.name = "failure_check",
          .every = kLookEvery,
          .run = [this]() -> Result<void> {
            if (process_.is_running()) return {};
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
