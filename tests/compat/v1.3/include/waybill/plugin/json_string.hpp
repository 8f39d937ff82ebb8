// What stands between the quotes of a JSON string, in UTF-8.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::plugin::detail {

inline void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&out](std::uint32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) return byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f));
  if (c >= 0x10000)
    byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f));
  else
    byte(0xe0 | c >> 12);
  byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f));
}

// Takes one \uXXXX, or two that are a surrogate pair.
inline std::uint32_t code_point(std::string_view& rest) {
  const auto unit = [](std::string_view text) -> std::uint32_t {
    std::uint32_t out = 0;
    if (text.size() < 6 || text.substr(0, 2) != "\\u") return 0xfffd;
    const auto end = std::from_chars(text.data() + 2, text.data() + 6, out, 16).ptr;
    return end == text.data() + 6 ? out : 0xfffd;
  };
  const auto high = unit(rest), low = unit(rest.substr(std::min<std::size_t>(6, rest.size())));
  const bool pair = high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
  rest.remove_prefix(std::min<std::size_t>(pair ? 12 : rest[1] == 'u' ? 6 : 2, rest.size()));
  if (pair) return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  return high >= 0xd800 && high < 0xe000 ? 0xfffd : high;
}

// A string without its quotes and escapes; an escape that means nothing becomes U+FFFD.
inline std::string decoded(std::string_view quoted) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  std::string out;
  for (auto rest = quoted.substr(1, quoted.size() - 2); !rest.empty();) {
    const auto plain = std::min(rest.find('\\'), rest.size());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    if (const auto at = kEscapes.find(rest[1]); at != std::string_view::npos) {
      out += kMeanings[at];
      rest.remove_prefix(2);
    } else {
      append_utf8(out, code_point(rest));
    }
  }
  return out;
}

}  // namespace waybill::plugin::detail
