// Where a URL leads: its scheme, host and port, by curl's own parser, so that what is checked is what is called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace waybill {

inline constexpr std::size_t kMaxUrlBytes = 8 << 10;

struct Endpoint {
  std::string scheme;     // lower case
  std::string authority;  // "example.org:443", the host in lower case
  bool bare = true;       // nothing follows the authority but "/"
};

struct HostAndPort {
  std::string_view host;  // IPv6 in brackets
  std::uint16_t port = 0;
};
HostAndPort split_authority(std::string_view authority);  // of an Endpoint

// A URL of one of two schemes, without user or password; else why it is refused (never with the URL itself).
Result<Endpoint> parse_endpoint(std::string_view url, const std::array<std::string_view, 2>& schemes);

}  // namespace waybill
