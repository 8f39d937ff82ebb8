// Lengths of time as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace waybill {

// "250ms", "10s", "5m", "1h", "30d"; anything else is none.
std::optional<Millis> parse_duration(std::string_view text);
// The shortest of these forms.
std::string format_duration(Millis duration);

}  // namespace waybill
