// The decision about one address.
#include "egress/egress_policy.h"

#include <ifaddrs.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace waybill {
namespace {

constexpr std::chrono::seconds kOwnAddressesAge{10};

}  // namespace

std::optional<EgressException> parse_egress_exception(std::string_view text) {
  EgressException out;
  std::string range(text);
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    auto rest = text.substr(close + 1);
    const auto colon = rest.find(':');
    has_port = colon != std::string_view::npos;
    if (has_port) port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!rest.empty() && rest.front() != '/') return std::nullopt;
    range = std::string(text.substr(1, close - 1)) + std::string(rest);
    if (text.substr(0, close).find(':') == std::string_view::npos || text.substr(0, close).find('/') != std::string_view::npos)
      return std::nullopt;  // brackets are for one IPv6 address
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    has_port = true;
    port = text.substr(text.find(':') + 1);
    range = text.substr(0, text.find(':'));
  }
  const auto parsed = parse_range(range);
  if (!parsed) return std::nullopt;
  out.range = *parsed;
  if (!has_port) return out;
  std::uint16_t number = 0;
  const auto* const end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, number);
  if (error != std::errc{} || stop != end || number == 0) return std::nullopt;
  out.port = number;
  return out;
}

std::vector<IpAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  std::vector<IpAddress> found;
  for (const auto* one = list; one != nullptr; one = one->ifa_next)
    if (const auto address = one->ifa_addr == nullptr ? std::nullopt : address_of(*one->ifa_addr)) found.push_back(*address);
  return found;
}

EgressPolicy::EgressPolicy(EgressRules rules, OwnAddresses own) : rules_(std::move(rules)), read_own_(std::move(own)) {}

std::optional<AddressClass> EgressPolicy::refusal(const IpAddress& address, std::uint16_t port, Trust trust) const {
  if (is_denied(address, port)) return AddressClass::denied;
  if (trust == Trust::registry && rules_.guard == EgressGuard::off) return std::nullopt;
  auto kind = classify(address);
  const bool strict = trust == Trust::tenant || rules_.guard == EgressGuard::strict;
  if (strict && kind == AddressClass::global && is_own(address)) kind = AddressClass::own;
  if (strict ? kind == AddressClass::global : kind < AddressClass::multicast) return std::nullopt;
  if (is_allowed(address, port, kind)) return std::nullopt;
  return kind;
}

// An address that carries another leads to that one as well.
bool EgressPolicy::is_denied(const IpAddress& address, std::uint16_t port) const {
  if (rules_.deny.empty()) return false;
  const auto carried = carried_by(address);
  return std::any_of(rules_.deny.begin(), rules_.deny.end(), [&](const EgressException& entry) {
    const auto meets = [&](const IpAddress& one) { return entry.range.contains(one); };
    return (!entry.port || *entry.port == port) && (meets(address) || std::any_of(carried.begin(), carried.end(), meets));
  });
}

bool EgressPolicy::is_allowed(const IpAddress& address, std::uint16_t port, AddressClass kind) const {
  return std::any_of(rules_.allow.begin(), rules_.allow.end(), [&](const EgressException& entry) {
    return entry.range.contains(address) && (!entry.port || *entry.port == port) &&
           (kind != AddressClass::metadata || entry.range.is_one_address());
  });
}

// Also where it is only carried: a translator or a tunnel hands such a connection back to this host.
bool EgressPolicy::is_own(const IpAddress& address) const {
  const auto carried = carried_by(address);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (!own_read_at_ || now - *own_read_at_ > kOwnAddressesAge) {
    own_ = read_own_();
    own_read_at_ = now;
  }
  const auto meets = [&](const IpAddress& one) { return std::find(own_.begin(), own_.end(), one) != own_.end(); };
  return meets(address) || std::any_of(carried.begin(), carried.end(), meets);
}

}  // namespace waybill
