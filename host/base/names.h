// Names and texts that people write: what a name may be made of, and lists of them in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace waybill {

// "a, b, c"
template <class Words>
std::string list_of(const Words& words) {
  std::string list;
  for (const auto& word : words) list.append(list.empty() ? "" : ", ").append(word);
  return list;
}

inline constexpr std::size_t kMaxTextLength = 4096;  // of a form's texts, in bytes
inline constexpr std::size_t kMaxIdLength = 64;
// Letters, digits, _ and -, and those of `more`; 1 to kMaxIdLength of them.
bool is_id(std::string_view text, std::string_view more = {});

// C0, DEL, C1 and what is_invisible(): what a name could hide or break a line with.
bool has_control_character(std::string_view text);

}  // namespace waybill
