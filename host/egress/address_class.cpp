// The tables behind the classes: IANA's special-purpose address registries (RFC 6890 and its updates) and the addresses at which
// cloud providers serve metadata.
#include "egress/address_class.h"

#include <algorithm>
#include <span>
#include <vector>

namespace waybill {
namespace {

struct Row {
  AddressRange range;
  AddressClass kind;
};

constexpr IpAddress v4(std::uint32_t bits) {
  return {{static_cast<std::uint8_t>(bits >> 24), static_cast<std::uint8_t>(bits >> 16 & 0xff),
           static_cast<std::uint8_t>(bits >> 8 & 0xff), static_cast<std::uint8_t>(bits & 0xff)},
          false};
}

// The groups of an IPv6 address from the left; those behind them are 0.
template <class... Groups>
constexpr IpAddress v6(Groups... groups) {
  IpAddress address{{}, true};
  std::size_t at = 0;
  ((address.bytes[at] = static_cast<std::uint8_t>(groups >> 8), address.bytes[at + 1] = static_cast<std::uint8_t>(groups & 0xff),
    at += 2),
   ...);
  return address;
}

// The first row that contains an address has its class.
constexpr Row kV4[] = {
    {{v4(0xa9fea9fe), 32}, AddressClass::metadata},  // 169.254.169.254: most providers
    {{v4(0xa9fea9fd), 32}, AddressClass::metadata},  // 169.254.169.253: Amazon, DNS
    {{v4(0xa9fea97b), 32}, AddressClass::metadata},  // 169.254.169.123: Amazon, time
    {{v4(0xa9feaa02), 32}, AddressClass::metadata},  // 169.254.170.2: Amazon, tasks
    {{v4(0xa9feaa17), 32}, AddressClass::metadata},  // 169.254.170.23: Amazon, pods
    {{v4(0xa9fe0017), 32}, AddressClass::metadata},  // 169.254.0.23: Tencent
    {{v4(0xa9fe2a2a), 32}, AddressClass::metadata},  // 169.254.42.42: Scaleway
    {{v4(0x646464c8), 32}, AddressClass::metadata},  // 100.100.100.200: Alibaba
    {{v4(0xc00000c0), 32}, AddressClass::metadata},  // 192.0.0.192: Oracle
    {{v4(0xa83f8110), 32}, AddressClass::metadata},  // 168.63.129.16: Azure, though it looks public
    {{v4(0x00000000), 8}, AddressClass::special},    // this network; 0.0.0.0 reaches this host
    {{v4(0x0a000000), 8}, AddressClass::private_use},  {{v4(0x64400000), 10}, AddressClass::special},  // shared by carriers
    {{v4(0x7f000000), 8}, AddressClass::loopback},     {{v4(0xa9fe0000), 16}, AddressClass::link_local},
    {{v4(0xac100000), 12}, AddressClass::private_use}, {{v4(0xc0000000), 24}, AddressClass::special},  // protocol assignments
    {{v4(0xc0000200), 24}, AddressClass::special},                                                     // documentation
    {{v4(0xc01fc400), 24}, AddressClass::special},                                                     // AS112
    {{v4(0xc034c100), 24}, AddressClass::special},                                                     // multicast tunnelling
    {{v4(0xc0586300), 24}, AddressClass::special},                                                     // relays of 6to4
    {{v4(0xc0a80000), 16}, AddressClass::private_use}, {{v4(0xc0af3000), 24}, AddressClass::special},  // AS112
    {{v4(0xc6120000), 15}, AddressClass::special},                                                     // benchmarking
    {{v4(0xc6336400), 24}, AddressClass::special},                                                     // documentation
    {{v4(0xcb007100), 24}, AddressClass::special},                                                     // documentation
    {{v4(0xe0000000), 4}, AddressClass::multicast},    {{v4(0xf0000000), 4}, AddressClass::special},   // reserved, and broadcast
};

constexpr Row kV6[] = {
    {{v6(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254), 128}, AddressClass::metadata},        // Amazon
    {{v6(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x253), 128}, AddressClass::metadata},        // Amazon, DNS
    {{v6(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x123), 128}, AddressClass::metadata},        // Amazon, time
    {{v6(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23), 128}, AddressClass::metadata},         // Amazon, pods
    {{v6(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254), 128}, AddressClass::metadata},        // Google
    {{v6(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42), 128}, AddressClass::metadata},         // Scaleway
    {{v6(0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe), 128}, AddressClass::metadata},  // Oracle
    {{v6(0, 0, 0, 0, 0, 0, 0, 1), 128}, AddressClass::loopback},
    {{v6(0x0064, 0xff9b), 96}, AddressClass::global},  // NAT64: as public as the IPv4 address inside
    {{v6(0xfc00), 7}, AddressClass::private_use},
    {{v6(0xfe80), 10}, AddressClass::link_local},
    {{v6(0xfec0), 10}, AddressClass::private_use},
    {{v6(0xff00), 8}, AddressClass::multicast},
    {{v6(0x2001), 23}, AddressClass::special},  // protocol assignments, with Teredo, benchmarking and ORCHID
    {{v6(0x2001, 0x0db8), 32}, AddressClass::special},
    {{v6(0x2002), 16}, AddressClass::special},                  // 6to4
    {{v6(0x2620, 0x004f, 0x8000), 48}, AddressClass::special},  // AS112
    {{v6(0x3ffe), 16}, AddressClass::special},                  // returned to IANA
    {{v6(0x3fff), 20}, AddressClass::special},                  // documentation
    {{v6(0x2000), 3}, AddressClass::global},
    {{v6(), 0}, AddressClass::special},  // all else is unassigned, or translated, or discarded
};

AddressClass look_up(std::span<const Row> table, const IpAddress& address) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.range.contains(address); });
  return found == table.end() ? AddressClass::global : found->kind;
}

}  // namespace

std::string_view to_string(AddressClass kind) {
  constexpr std::string_view kWords[] = {"global",    "special",    "private",  "loopback", "own",
                                         "multicast", "link_local", "metadata", "denied"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::vector<IpAddress> carried_by(const IpAddress& address) {
  if (!address.is_v6) return {};
  const auto& b = address.bytes;
  std::vector<IpAddress> found;
  const auto add = [&](std::size_t i, std::size_t j, std::size_t k, std::size_t l) {
    found.push_back(v4_address(b[i], b[j], b[k], b[l]));
  };
  const auto in = [&](const IpAddress& base, int prefix) { return AddressRange{base, prefix}.contains(address); };
  if (in(v6(), 96) && (b[12] | b[13] | b[14]) != 0) add(12, 13, 14, 15);  // compatible; not :: and ::1
  if (in(v6(0, 0, 0, 0, 0xffff), 96)) add(12, 13, 14, 15);                // translated, RFC 2765
  if (in(v6(0x0064, 0xff9b), 96)) add(12, 13, 14, 15);                    // NAT64
  if (in(v6(0x0064, 0xff9b, 1), 48)) {                                    // NAT64 of this network: where depends on its prefix
    add(6, 7, 9, 10);
    add(7, 9, 10, 11);
    add(9, 10, 11, 12);
    add(12, 13, 14, 15);
  }
  if (in(v6(0x2002), 16)) add(2, 3, 4, 5);  // 6to4
  if (in(v6(0x2001), 32)) {                 // Teredo: its server, and the client with its bits turned
    add(4, 5, 6, 7);
    const auto turned = [&](std::size_t i) { return static_cast<std::uint8_t>(~b[i] & 0xff); };
    found.push_back(v4_address(turned(12), turned(13), turned(14), turned(15)));
  }
  if ((b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe) add(12, 13, 14, 15);  // ISATAP
  return found;
}

AddressClass classify(const IpAddress& address) {
  if (!address.is_v6) return look_up(kV4, address);
  auto kind = look_up(kV6, address);
  for (const auto& carried : carried_by(address)) kind = std::max(kind, look_up(kV4, carried));
  return kind;
}

}  // namespace waybill
