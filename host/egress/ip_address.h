// IP addresses and ranges of them, as values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace waybill {

// An IPv4-mapped IPv6 address (::ffff:a.b.c.d) is the IPv4 address that the kernel would connect to.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // of IPv4 the first four
  bool is_v6 = false;

  bool operator==(const IpAddress&) const = default;
  std::string text() const;  // "192.0.2.1", "2001:db8::1"
};

IpAddress v4_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);
IpAddress v6_address(const std::array<std::uint8_t, 16>& bytes);
// None for any other family. A scope (zone) is not kept.
std::optional<IpAddress> address_of(const sockaddr& address);
// "192.0.2.1" or "2001:db8::1", written as inet_pton takes it; nothing else.
std::optional<IpAddress> parse_address(std::string_view text);
// Whatever a resolver takes for a literal IPv4 address: also 127.1, 0177.0.0.1, 0x7f000001 and 2130706433.
std::optional<IpAddress> parse_resolver_v4(std::string_view text);

// localhost, 127.0.0.0/8 or ::1; not an IPv4 address that is mapped into IPv6, nor what only a resolver takes for one.
bool is_loopback_name(std::string_view host);

struct AddressRange {
  IpAddress base;
  int prefix = 0;  // bits

  bool operator==(const AddressRange&) const = default;
  bool contains(const IpAddress& address) const;
  bool is_one_address() const { return prefix == (base.is_v6 ? 128 : 32); }
};

// "10.0.0.0/8", "2001:db8::/32" or one address; none if it is neither, or has bits behind its prefix.
std::optional<AddressRange> parse_range(std::string_view text);

}  // namespace waybill
