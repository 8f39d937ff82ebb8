// Where files may be fetched from: exact origins, scheme, host and port.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "common/text.h"

namespace waybill::plugins::ses {

struct Origin {
  std::string scheme;  // in lower case, as is the host
  std::string host;
  int port = 0;

  bool operator==(const Origin& other) const { return scheme == other.scheme && host == other.host && port == other.port; }
};

// Of an http or https URL that every reader takes apart alike: no user, no escapes in the host, nothing invisible. None for
// anything else. `rest` is what follows the origin.
inline std::optional<Origin> origin_of(std::string_view url, std::string_view& rest) {
  for (const char c : url)
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '\\') return std::nullopt;
  Origin out;
  for (const auto& [scheme, port] : {std::pair<std::string_view, int>{"http", 80}, {"https", 443}})
    if (url.size() > scheme.size() + 3 && same_name(url.substr(0, scheme.size()), scheme) &&
        url.substr(scheme.size(), 3) == "://")
      out.scheme = scheme, out.port = port;
  if (out.scheme.empty()) return std::nullopt;
  url.remove_prefix(out.scheme.size() + 3);
  auto authority = url.substr(0, url.find_first_of("/?#"));
  rest = url.substr(authority.size());

  const auto bracket = authority.rfind(']');
  if (const auto colon = authority.rfind(':'); colon != authority.npos && (bracket == authority.npos || colon > bracket)) {
    const auto digits = authority.substr(colon + 1);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), out.port).ptr;
    if (digits.empty() || end != digits.data() + digits.size() || out.port < 1 || out.port > 65535) return std::nullopt;
    authority = authority.substr(0, colon);
  }
  for (const char c : authority) out.host += lower(c);
  const bool v6 = out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']';
  const auto allowed = v6 ? "0123456789abcdef:.[]" : "abcdefghijklmnopqrstuvwxyz0123456789-._";
  if (out.host.empty() || out.host.find_first_not_of(allowed) != std::string::npos) return std::nullopt;
  return out;
}

}  // namespace waybill::plugins::ses
