// How long one attempt may take, as targets, forms and pipelines say it.
#pragma once

#include <optional>
#include <string_view>

#include "base/duration.h"
#include "base/time.h"

namespace waybill {

inline constexpr Millis kLeastTimeLimit{10};
inline constexpr Millis kMaxTimeLimit = std::chrono::hours(1);
inline constexpr std::string_view kTimeLimitRule = "must be how long one attempt may take, from 10ms to 1h: \"30s\"";

// "30s" within these bounds; else none.
inline std::optional<Millis> time_limit_from(std::string_view text) {
  const auto limit = parse_duration(text);
  return limit && *limit >= kLeastTimeLimit && *limit <= kMaxTimeLimit ? limit : std::nullopt;
}

}  // namespace waybill
