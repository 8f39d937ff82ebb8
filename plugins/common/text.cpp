// Text and bytes without JSON: text.h, control_characters.h, surrogates.h, url_port.h and base64.h.
#include "common/text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "common/base64.h"
#include "common/control_characters.h"
#include "common/surrogates.h"
#include "common/url_port.h"

namespace waybill::plugins {

std::string one_line(std::string_view text, std::size_t most) {
  const bool cut = text.size() > most;
  if (cut) {
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    text = text.substr(0, most);
  }
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return cut ? out + "..." : out;
}

std::string trimmed_line(std::string_view text, std::size_t most) {
  const auto blank = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return one_line(text, most);
}

std::string name_in_line(std::string_view name, std::size_t most) {
  auto out = trimmed_line(name, most);
  return out.empty() ? "(unnamed)" : out;
}

std::string public_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const auto scheme = url.find("://");
  const auto authority = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto path = std::min(url.find('/', authority), url.size());
  const auto at = url.substr(0, path).rfind('@');
  std::string out(url.substr(0, authority));
  out += at == std::string_view::npos || at < authority ? url.substr(authority) : url.substr(at + 1);
  return one_line(out, 300);
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

namespace {

// Of the bytes of one character of UTF-8.
bool is_unseen(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  unsigned code = character.size() == 1 ? lead : lead & (0xFFu >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x61C || code == 0x180E || code == 0x200B ||
         code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
}

// What \uXXXX at the head of `text` stands for; 0 if there is none.
unsigned utf16_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return 0;
  const auto end = std::from_chars(text.data() + 2, text.data() + 6, unit, 16).ptr;
  return end == text.data() + 6 ? unit : 0;
}

}  // namespace

bool has_control_character(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length != 0 && length <= text.size() && is_unseen(text.substr(0, length))) return true;
    text.remove_prefix(length == 0 || length > text.size() ? 1 : length);
  }
  return false;
}

std::string without_lone_surrogates(std::string_view json) {
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

bool has_good_port(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const auto bracket = url.rfind(']');
  const auto colon = url.rfind(':');
  if (colon == url.npos || (bracket != url.npos && colon < bracket)) return true;
  const auto digits = url.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc{} && end == digits.data() + digits.size() && port != 0;
}

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto part = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= part.size() ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace waybill::plugins
