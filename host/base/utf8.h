// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace waybill {

// Bytes of the character that a text (not empty) begins with; 0 if it is not well formed there.
std::size_t utf8_character_length(std::string_view text);
bool is_valid_utf8(std::string_view text);
// The same, and without NUL bytes: what a column of type text can hold.
bool is_clean_utf8(std::string_view text);

// At most `most` bytes of `text`, cut between characters; broken UTF-8 becomes U+FFFD, control characters become spaces.
std::string clean_text(std::string_view text, std::size_t most);

}  // namespace waybill
