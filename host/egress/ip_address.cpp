// IP addresses and ranges of them: how they are read and compared.
#include "egress/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

namespace waybill {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// A number as inet_aton reads it: 0x... is hexadecimal, 0... octal, all else decimal.
std::optional<std::uint64_t> aton_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
    if (text.empty()) return 0;
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

IpAddress v4_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) { return {{a, b, c, d}, false}; }

IpAddress v6_address(const std::array<std::uint8_t, 16>& bytes) {
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return v4_address(bytes[12], bytes[13], bytes[14], bytes[15]);
  return {bytes, true};
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

std::optional<IpAddress> address_of(const sockaddr& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (address.sa_family == AF_INET) {
    in_addr v4{};
    std::memcpy(&v4, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in, sin_addr), sizeof v4);
    std::memcpy(bytes.data(), &v4, sizeof v4);
    return IpAddress{bytes, false};
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  std::memcpy(bytes.data(), reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in6, sin6_addr), bytes.size());
  return v6_address(bytes);
}

std::optional<IpAddress> parse_address(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string terminated(text);
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, terminated.c_str(), bytes.data()) == 1) return IpAddress{bytes, false};
  if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1) return v6_address(bytes);
  return std::nullopt;
}

std::optional<IpAddress> parse_resolver_v4(std::string_view text) {
  std::vector<std::uint64_t> parts;
  for (;;) {
    const auto dot = text.find('.');
    const auto part = text.substr(0, dot);
    const auto number = part.empty() ? std::nullopt : aton_number(part);
    if (!number || parts.size() == 4) return std::nullopt;
    parts.push_back(*number);
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  const auto last_bits = 8 * (5 - parts.size());  // the last number fills what the others leave
  std::uint64_t address = parts.back();
  if (address >> last_bits != 0) return std::nullopt;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] > 255) return std::nullopt;
    address |= parts[i] << (24 - 8 * i);
  }
  const auto byte = [&](int shift) { return static_cast<std::uint8_t>(address >> shift & 0xff); };
  return v4_address(byte(24), byte(16), byte(8), byte(0));
}

bool is_loopback_name(std::string_view host) {
  if (host == "localhost") return true;
  if (host.find('.') != std::string_view::npos && host.find(':') != std::string_view::npos)
    return false;  // an IPv4 address in IPv6
  const auto address = parse_address(host);
  return address &&
         (address->is_v6 ? *address == v6_address({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) : address->bytes[0] == 127);
}

bool AddressRange::contains(const IpAddress& address) const {
  if (address.is_v6 != base.is_v6) return false;
  const auto whole = static_cast<std::size_t>(prefix / 8);
  if (!std::equal(base.bytes.begin(), base.bytes.begin() + static_cast<std::ptrdiff_t>(whole), address.bytes.begin()))
    return false;
  const int rest = prefix % 8;
  return rest == 0 || (base.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0;
}

std::optional<AddressRange> parse_range(std::string_view text) {
  const auto slash = text.find('/');
  const auto base = parse_address(text.substr(0, slash));
  if (!base) return std::nullopt;
  const int bits = base->is_v6 ? 128 : 32;
  int prefix = bits;
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    const auto* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, prefix);
    if (error != std::errc{} || stop != end || prefix < 0 || prefix > bits || digits.front() == '-') return std::nullopt;
  }
  for (int bit = prefix; bit < bits; ++bit)
    if (base->bytes[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) return std::nullopt;
  return AddressRange{*base, prefix};
}

}  // namespace waybill
