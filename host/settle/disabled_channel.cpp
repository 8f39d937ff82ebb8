// A sender's refusal becomes a wait.
#include "settle/disabled_channel.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr Millis kShortestWait = std::chrono::minutes(1);
constexpr Millis kLongestWait = std::chrono::hours(1);

bool is_kept(const Finished& finished, Micros age, Millis kept) {
  const Contract& contract = *finished.job.contract;
  return finished.how == Finished::How::attempted && contract.is_of_channel() && contract.policy != Policy::one_shot &&
         finished.outcome->verdict == Verdict::rejected && finished.outcome->reach == Reach::not_sent &&
         finished.outcome->reason == kChannelDisabled && (kept == Millis{0} || age < kept);
}

}  // namespace

void keep_for_channels(std::vector<Finished>& batch, Millis kept) {
  for (auto& finished : batch) {
    const Micros age = finished.finished_at - finished.job.created;
    if (!is_kept(finished, age, kept)) continue;
    finished.how = Finished::How::unattempted;
    finished.outcome.reset();
    finished.not_before = std::clamp(std::chrono::duration_cast<Millis>(age), kShortestWait, kLongestWait);
  }
}

}  // namespace waybill
