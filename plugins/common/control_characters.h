// Characters that no name, address or header shows: controls, and those that show nothing or move what stands around them. The
// host refuses the same ones (host/base/names.h); a test holds the two against each other.
#pragma once

#include <cstddef>
#include <string_view>

namespace waybill::plugins {

// Of the bytes of one character of UTF-8.
inline bool is_unseen(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  unsigned code = character.size() == 1 ? lead : lead & (0xFFu >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x61C || code == 0x180E || code == 0x200B ||
         code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
}

// `text` should be UTF-8; bytes that are none are no controls.
inline bool has_control_character(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length != 0 && length <= text.size() && is_unseen(text.substr(0, length))) return true;
    text.remove_prefix(length == 0 || length > text.size() ? 1 : length);
  }
  return false;
}

}  // namespace waybill::plugins
