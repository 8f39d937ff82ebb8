// What plugins say, made safe to keep: bounded, valid UTF-8, without control characters.
#include "senders/plugin_text.h"

#include <waybill/plugin.h>

#include <algorithm>

#include "core/utf8.h"

namespace waybill {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string_view view_of(const wb_str& text) {
  return text.ptr == nullptr ? std::string_view{} : std::string_view{text.ptr, text.len};
}

wb_str borrow(std::string_view text) { return {text.data(), text.size()}; }

std::string clean_text(std::string_view text, std::size_t most) {
  std::string out;
  // Never looks further than what could be kept: the length may be a lie.
  text = text.substr(0, most + 4);
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    const auto kept = length == 0 ? kReplacement : is_control(character) ? std::string_view(" ") : character;
    if (out.size() + kept.size() > most) break;
    out += kept;
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace waybill
