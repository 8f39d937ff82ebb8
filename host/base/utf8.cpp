// Checking and cleaning UTF-8 byte by byte.
#include "base/utf8.h"

#include <algorithm>

#include "base/invisible.h"

namespace waybill {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::size_t utf8_character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_clean_utf8(std::string_view text) { return text.find('\0') == std::string_view::npos && is_valid_utf8(text); }

std::string clean_text(std::string_view text, std::size_t most) {
  std::string out;
  // Never looks further than what could be kept: the length may be a lie.
  text = text.substr(0, most + 4);
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    const auto kept = length == 0                                        ? kReplacement
                      : is_control(character) || is_invisible(character) ? std::string_view(" ")
                                                                         : character;
    if (out.size() + kept.size() > most) break;
    out += kept;
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace waybill
