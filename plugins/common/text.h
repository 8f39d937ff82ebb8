// Words for people, made safe to show: one line, not too long, without what may be a credential.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace waybill::plugins {

// `text` must be UTF-8; control characters become spaces, and what is cut off is cut between characters.
inline std::string one_line(std::string_view text, std::size_t most = 200) {
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

// Text for a header or a list: one line without blanks at its ends, cut between characters if it is longer than such a line
// should be.
inline std::string trimmed_line(std::string_view text, std::size_t most = 500) {
  const auto blank = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return one_line(text, most);
}

inline std::string name_in_line(std::string_view name, std::size_t most = 500) {
  auto out = trimmed_line(name, most);
  return out.empty() ? "(unnamed)" : out;
}

// A URL without user information, query and fragment, where people put keys.
inline std::string public_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const auto scheme = url.find("://");
  const auto authority = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto path = std::min(url.find('/', authority), url.size());
  const auto at = url.substr(0, path).rfind('@');
  std::string out(url.substr(0, authority));
  out += at == std::string_view::npos || at < authority ? url.substr(authority) : url.substr(at + 1);
  return one_line(out, 300);
}

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace waybill::plugins
