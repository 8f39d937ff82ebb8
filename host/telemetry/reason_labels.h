// Reasons of attempts as labels. A reason may be a destination's own text (errorAt of a webhook): only words become labels, and
// not many of one target.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace waybill {

// The most reasons of one target that are told apart.
inline constexpr std::size_t kMaxReasonsOfTarget = 30;
inline constexpr std::size_t kMaxReasonWord = 48;
inline constexpr std::string_view kOtherReason = "other";

// Safe from any thread. Keeps what it has seen; targets are those of the registry.
class ReasonLabels {
 public:
  // `reason`, "" as well; kOtherReason if it is no short identifier, or one too many of this target. Valid as long as `reason`.
  std::string_view label(std::string_view target, std::string_view reason);

 private:
  static constexpr std::size_t kMaxTargets = 10'000;

  std::mutex mutex_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> reasons_;  // by target; guarded by mutex_
};

}  // namespace waybill
