// Host headers and origins: whom a request means, and which page sent it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::http {

// The host of "example.org:8080", "[::1]" or "192.0.2.1:80", in lower case, without brackets; the port as written, "" if there is
// none.
struct Authority {
  std::string host;
  std::string port;
  bool operator==(const Authority&) const = default;
};
// None unless it is a host with at most a port from 1 to 65535 (RFC 3986, 3.2.2, without percent-encoding).
std::optional<Authority> parse_authority(std::string_view text);

// The authority of a request target that is an absolute URL of http or https, as written; none of any other target.
std::optional<std::string_view> authority_of(std::string_view target);

// Whether a page of `origin` is one of `host`'s: the same host and port, whatever the scheme (a proxy may have ended TLS).
bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace waybill::http
