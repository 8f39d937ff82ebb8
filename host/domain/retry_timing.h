// How long to wait before the next attempt: internal policy per action type, never part of a contract.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"

namespace waybill {

inline constexpr Millis kMaxRetryAfter = std::chrono::hours(24);  // a receiver that asks for more is asked again after this

struct RetryTiming {
  enum class Kind : std::uint8_t { fixed, exponential };
  Kind kind = Kind::fixed;
  Millis delay{5000};          // fixed: each wait; exponential: the wait after the first attempt
  double factor = 2.0;         // exponential: growth per attempt
  Millis max_delay{3600'000};  // no computed wait is longer
  double jitter_low = 1.0;     // each wait is multiplied by a random factor from [low, high]
  double jitter_high = 1.0;

  bool operator==(const RetryTiming&) const = default;
};

// The timings that hold where the operator says nothing: "default", and slower ones for mail. A relay that is away, or one that
// takes mail from strangers at their second try only, needs an hour: five attempts span 73 to 89 minutes.
std::map<std::string, RetryTiming> default_timings();

// The timing of an action type: its own, or "default", which must be there.
const RetryTiming& timing_for(const std::map<std::string, RetryTiming>& timings, const std::string& action_type);

// The same for a delivery to an organisation's channel. Where the operator names no timing of the action type: 1, 2 and 4 minutes
// after the first three attempts, each within half as much more or less.
const RetryTiming& channel_timing_for(const std::map<std::string, RetryTiming>& timings, const std::string& action_type);

// The wait after `attempts` attempts (>= 1). `random` is uniform in [0, 1). A receiver's retry_after lifts the wait, never
// shortens it, and is itself capped at kMaxRetryAfter.
Millis wait_after(const RetryTiming& timing, std::uint32_t attempts, std::optional<Millis> retry_after, double random);

}  // namespace waybill
