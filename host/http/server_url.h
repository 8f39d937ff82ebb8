// The text of URLs: percent-encoding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill::http {

// None if a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

}  // namespace waybill::http
