// Words for people, made safe to show: one line, not too long, without what may be a credential.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace waybill::plugins {

// `text` must be UTF-8; control characters become spaces, and what is cut off is cut between characters.
std::string one_line(std::string_view text, std::size_t most = 200);

// Text for a header or a list: one line without blanks at its ends, cut between characters if it is longer than such a line
// should be.
std::string trimmed_line(std::string_view text, std::size_t most = 500);

std::string name_in_line(std::string_view name, std::size_t most = 500);

// A URL without user information, query and fragment, where people put keys.
std::string public_url(std::string_view url);

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b);

}  // namespace waybill::plugins
