// The text of URLs: percent-encoding and UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill {

// None if a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

// Well-formed UTF-8 without NUL: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_clean_utf8(std::string_view text);

}  // namespace waybill
