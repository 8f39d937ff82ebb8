// What a name may be made of.
#include "base/names.h"

#include <algorithm>

#include "base/invisible.h"

namespace waybill {

bool is_id(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= kMaxIdLength && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           more.find(c) != std::string_view::npos;
  });
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto after = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (c < 0x20 || c == 0x7F || (c == 0xC2 && after >= 0x80 && after < 0xA0)) return true;
    const std::size_t length = c == 0xC2 || c == 0xD8 ? 2 : c == 0xE1 || c == 0xE2 || c == 0xEF ? 3 : c == 0xF3 ? 4 : 0;
    if (length != 0 && is_invisible(text.substr(i, length))) return true;
  }
  return false;
}

}  // namespace waybill
