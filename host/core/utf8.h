// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace waybill {

// Bytes of the character that a text (not empty) begins with; 0 if it is not well formed there.
std::size_t utf8_character_length(std::string_view text);
bool is_valid_utf8(std::string_view text);
// The same, and without NUL bytes: what a column of type text can hold.
bool is_clean_utf8(std::string_view text);

}  // namespace waybill
