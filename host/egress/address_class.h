// What kind of address an IP address is: public, or one that leads inside. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "egress/ip_address.h"

namespace waybill {

// The later, the stricter: of an address that carries another, the later class counts.
enum class AddressClass : std::uint8_t {
  global,       // public unicast
  special,      // shared, documentation, benchmarking, reserved, tunnels: IANA's special-purpose registries, and unassigned IPv6
  private_use,  // RFC 1918, unique local, site-local
  loopback,
  own,  // of one of this host's interfaces; known to a policy only
  multicast,
  link_local,
  metadata,  // where cloud providers serve credentials
  denied     // the operator's deny-list has it; known to a policy only
};

std::string_view to_string(AddressClass kind);

// An IPv6 address that carries an IPv4 one (compatible, translated, NAT64, 6to4, Teredo, ISATAP) is at least of that one's class.
AddressClass classify(const IpAddress& address);

// Every IPv4 address that an IPv6 address may be made to carry.
std::vector<IpAddress> carried_by(const IpAddress& address);

}  // namespace waybill
