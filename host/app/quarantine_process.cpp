// When the quarantine is started.
#include "app/quarantine.h"

namespace waybill {
namespace {

constexpr Millis kEvery{500};

}  // namespace

PeriodicTask QuarantineProcess::task() {
  return {"quarantine", kEvery, [this]() -> Result<void> {
            if (process_.is_running()) return {};
            const auto wanted = store_.is_help_wanted();
            TRY(wanted);
            if (!*wanted) return {};
            std::vector<std::string> words{"quarantine"};
            if (!config_.empty()) words.insert(words.end(), {"--config", config_.string()});
            return process_.start(std::move(words));
          }};
}

}  // namespace waybill
