// The port of a URL.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace waybill::plugins {

// Whether a URL has no port, or one from 1 to 65535.
inline bool has_good_port(std::string_view url) {
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

}  // namespace waybill::plugins
