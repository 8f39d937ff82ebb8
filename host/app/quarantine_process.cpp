// When the quarantine is started.
#include "app/quarantine.h"

namespace waybill {
namespace {

constexpr Millis kEvery{500};

}  // namespace

PeriodicTask QuarantineProcess::task(std::function<bool()> may_claim) {
  return {"quarantine", kEvery, [this, may_claim = std::move(may_claim)]() -> Result<void> {
            if (!may_claim()) {
              process_.ask_to_end();
              return {};
            }
            if (is_outdated_.exchange(false)) process_.ask_to_end();
            if (process_.is_running()) return {};
            const auto wanted = store_.is_help_wanted();
            TRY(wanted);
            if (!*wanted) {
              const auto ended = store_.end_silent_lead(lease_);
              TRY(ended);
              if (*ended) log_.warn("quarantine.silent", {{"effect", "its session was ended; another process tries suspects"}});
              return {};
            }
            std::vector<std::string> words{"quarantine"};
            if (!config_.empty()) words.insert(words.end(), {"--config", config_.string()});
            return process_.start(std::move(words));
          }};
}

}  // namespace waybill
