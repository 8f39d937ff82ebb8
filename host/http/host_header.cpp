// Strict: a host that only some readers understand may be another one to somebody else.
#include "http/host_header.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/ascii.h"

namespace waybill::http {
namespace {

constexpr std::size_t kMaxHost = 253;

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_ipv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  int port = 0;
  for (const char c : text) port = port * 10 + (c - '0');
  return port >= 1 && port <= 65535;
}

// A port as it counts: none is that of the scheme.
std::string_view effective_port(const Authority& authority, std::string_view of_scheme) {
  return authority.port.empty() ? of_scheme : std::string_view(authority.port);
}

}  // namespace

std::optional<std::string_view> authority_of(std::string_view target) {
  const auto scheme = target.find("://");
  const auto is_scheme = [&](std::string_view name) {
    return scheme != std::string_view::npos && is_ascii_word(target.substr(0, scheme), name);
  };
  if (!is_scheme("http") && !is_scheme("https")) return std::nullopt;
  const auto begin = scheme + 3;
  return target.substr(begin, std::min(target.find_first_of("/?#", begin), target.size()) - begin);
}

std::optional<Authority> parse_authority(std::string_view text) {
  Authority found;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    found.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    found.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  found.host = lower_ascii(found.host);
  const bool is_host = text.starts_with('[') ? is_ipv6(found.host)
                                             : !found.host.empty() && found.host.size() <= kMaxHost &&
                                                   std::all_of(found.host.begin(), found.host.end(), is_of_name);
  if (!is_host) return std::nullopt;
  if (rest.empty()) return found;
  if (!rest.starts_with(':') || !is_port(rest.substr(1))) return std::nullopt;
  found.port = rest.substr(1);
  return found;
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const bool is_https = origin.starts_with("https://");
  if (!is_https && !origin.starts_with("http://")) return false;
  const auto page = parse_authority(origin.substr(is_https ? 8 : 7));
  const auto meant = parse_authority(host);
  if (!page || !meant || page->host != meant->host) return false;
  const std::string_view of_scheme = is_https ? "443" : "80";
  return effective_port(*page, of_scheme) == effective_port(*meant, of_scheme);
}

}  // namespace waybill::http
