// How long one attempt may take, for the targets that say so.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/time.h"

namespace waybill {

using TimeLimits = std::map<std::string, Millis, std::less<>>;  // by target
inline constexpr Millis kMaxTimeLimit = std::chrono::hours(1);

}  // namespace waybill
