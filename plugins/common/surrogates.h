// Half a surrogate pair, which JSON can write ("\ud800") though it is no character.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace waybill::plugins {

// What \uXXXX at the head of `text` stands for; 0 if there is none.
inline unsigned utf16_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return 0;
  const auto end = std::from_chars(text.data() + 2, text.data() + 6, unit, 16).ptr;
  return end == text.data() + 6 ? unit : 0;
}

// The same JSON with U+FFFD in the place of each: a strict reader would take the whole for no JSON.
inline std::string without_lone_surrogates(std::string_view json) {
  std::string out(json);
  for (auto at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
    const auto unit = utf16_unit(json.substr(at));
    const auto next = at + 6 <= json.size() ? utf16_unit(json.substr(at + 6)) : 0;
    const bool surrogate = unit >= 0xd800 && unit < 0xe000;
    const bool pair = surrogate && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000;
    if (surrogate && !pair) out.replace(at + 2, 4, "fffd");
    at += pair ? 12 : surrogate ? 6 : 2;
  }
  return out;
}

}  // namespace waybill::plugins
