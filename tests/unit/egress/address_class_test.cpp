// Which addresses are public, and which lead inside.  N7
#include "egress/address_class.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill {
namespace {

using enum AddressClass;

struct Row {
  const char* address;
  AddressClass kind;
};

// The first and last of every range, and their neighbours outside.
constexpr Row kRows[] = {
    {"0.0.0.0", special},
    {"0.255.255.255", special},
    {"1.0.0.0", global},
    {"9.255.255.255", global},
    {"10.0.0.0", private_use},
    {"10.255.255.255", private_use},
    {"11.0.0.0", global},
    {"100.63.255.255", global},
    {"100.64.0.0", special},
    {"100.100.100.200", metadata},
    {"100.127.255.255", special},
    {"100.128.0.0", global},
    {"126.255.255.255", global},
    {"127.0.0.0", loopback},
    {"127.255.255.255", loopback},
    {"128.0.0.0", global},
    {"168.63.129.15", global},
    {"168.63.129.16", metadata},
    {"168.63.129.17", global},
    {"169.253.255.255", global},
    {"169.254.0.0", link_local},
    {"169.254.0.23", metadata},
    {"169.254.42.42", metadata},
    {"169.254.169.123", metadata},
    {"169.254.169.253", metadata},
    {"169.254.169.254", metadata},
    {"169.254.170.2", metadata},
    {"169.254.170.23", metadata},
    {"169.254.255.255", link_local},
    {"169.255.0.0", global},
    {"172.15.255.255", global},
    {"172.16.0.0", private_use},
    {"172.31.255.255", private_use},
    {"172.32.0.0", global},
    {"191.255.255.255", global},
    {"192.0.0.0", special},
    {"192.0.0.192", metadata},
    {"192.0.0.255", special},
    {"192.0.1.0", global},
    {"192.0.2.0", special},
    {"192.0.2.255", special},
    {"192.0.3.0", global},
    {"192.31.196.1", special},
    {"192.52.193.1", special},
    {"192.88.99.1", special},
    {"192.167.255.255", global},
    {"192.168.0.0", private_use},
    {"192.168.255.255", private_use},
    {"192.169.0.0", global},
    {"192.175.48.1", special},
    {"198.17.255.255", global},
    {"198.18.0.0", special},
    {"198.19.255.255", special},
    {"198.20.0.0", global},
    {"198.51.100.0", special},
    {"203.0.113.255", special},
    {"203.0.114.0", global},
    {"223.255.255.255", global},
    {"224.0.0.0", multicast},
    {"239.255.255.255", multicast},
    {"240.0.0.0", special},
    {"255.255.255.255", special},

    {"::", special},
    {"::1", loopback},
    {"::2", special},
    {"::ffff:8.8.8.8", global},
    {"::ffff:127.0.0.1", loopback},
    {"::ffff:169.254.169.254", metadata},
    {"::8.8.8.8", special},
    {"::127.0.0.1", loopback},
    {"::169.254.169.254", metadata},
    {"::ffff:0:8.8.8.8", special},
    {"::ffff:0:10.0.0.5", private_use},
    {"64:ff9b::8.8.8.8", global},
    {"64:ff9b::10.0.0.5", private_use},
    {"64:ff9b::169.254.169.254", metadata},
    {"64:ff9b::1:8.8.8.8", special},
    {"64:ff9b:1::8.8.8.8", special},
    {"64:ff9b:1::a9fe:a9fe", metadata},
    {"64:ff9b:1:a9fe:a9:fe00::", metadata},
    {"64:ff9b:1:a9:fe:a9fe::", metadata},
    {"64:ff9b:1:0:a9:fea9:fe00:0", metadata},
    {"100::", special},
    {"100:0:0:1::", special},
    {"1fff:ffff::", special},
    {"2000::", global},
    {"2001::", special},
    {"2001:0:a9fe:a9fe::", metadata},
    {"2001:0:808:808:0:0:f5ff:fffa", private_use},
    {"2001:1::1", special},
    {"2001:1ff:ffff::", special},
    {"2001:200::", global},
    {"2001:db7:ffff::", global},
    {"2001:db8::", special},
    {"2001:db9::", global},
    {"2001:db9::5efe:8.8.8.8", global},
    {"2001:db9::5efe:10.0.0.5", private_use},
    {"2001:db9::200:5efe:169.254.169.254", metadata},
    {"2002:808:808::", special},
    {"2002:7f00:1::", loopback},
    {"2002:a9fe:a9fe::1", metadata},
    {"2003::", global},
    {"2606:4700::1111", global},
    {"2620:4f:8000::", special},
    {"2620:4f:8001::", global},
    {"3ffd:ffff::", global},
    {"3ffe::", special},
    {"3fff::", special},
    {"3fff:fff:ffff::", special},
    {"3fff:1000::", global},
    {"4000::", special},
    {"5f00::1", special},
    {"fbff::", special},
    {"fc00::", private_use},
    {"fd00:42::42", metadata},
    {"fd00:c1::a9fe:a9fe", metadata},
    {"fd00:ec2::23", metadata},
    {"fd00:ec2::123", metadata},
    {"fd00:ec2::253", metadata},
    {"fd00:ec2::254", metadata},
    {"fd00:ec2::255", private_use},
    {"fd20:ce::254", metadata},
    {"fdff:ffff::", private_use},
    {"fe00::", special},
    {"fe80::1", link_local},
    {"febf:ffff::", link_local},
    {"fec0::", private_use},
    {"feff:ffff::", private_use},
    {"ff00::", multicast},
    {"ff02::1", multicast},
    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", multicast},
};

TEST(AddressClass, EveryRangeEndsWhereItShould) {  // N7
  for (const auto& row : kRows) {
    const auto address = parse_address(row.address);
    ASSERT_TRUE(address) << row.address;
    EXPECT_EQ(to_string(classify(*address)), to_string(row.kind)) << row.address;
  }
}

// Every way to carry an IPv4 address in an IPv6 one.
std::vector<IpAddress> carriers_of(const IpAddress& v4, const std::array<std::uint8_t, 16>& noise) {
  const auto& b = v4.bytes;
  std::vector<IpAddress> out;
  const auto put = [&](std::initializer_list<std::uint8_t> head, std::array<std::size_t, 4> at, bool noisy, bool turned = false) {
    std::array<std::uint8_t, 16> bytes{};
    if (noisy) bytes = noise;
    std::copy(head.begin(), head.end(), bytes.begin());
    for (std::size_t i = 0; i < 4; ++i) bytes[at[i]] = turned ? static_cast<std::uint8_t>(~b[i]) : b[i];
    out.push_back(v6_address(bytes));
  };
  put({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {12, 13, 14, 15}, false);
  put({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, {12, 13, 14, 15}, false);
  put({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, {12, 13, 14, 15}, false);
  put({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, {12, 13, 14, 15}, false);
  put({0, 0x64, 0xff, 0x9b, 0, 1}, {6, 7, 9, 10}, true);
  put({0, 0x64, 0xff, 0x9b, 0, 1}, {7, 9, 10, 11}, true);
  put({0, 0x64, 0xff, 0x9b, 0, 1}, {9, 10, 11, 12}, true);
  put({0, 0x64, 0xff, 0x9b, 0, 1}, {12, 13, 14, 15}, true);
  put({0x20, 0x02}, {2, 3, 4, 5}, true);
  put({0x20, 0x01, 0, 0}, {4, 5, 6, 7}, true);
  put({0x20, 0x01, 0, 0}, {12, 13, 14, 15}, true, true);
  put({0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xfe}, {12, 13, 14, 15}, false);
  put({0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 2, 0, 0x5e, 0xfe}, {12, 13, 14, 15}, false);
  return out;
}

RC_GTEST_PROP(AddressClassProperty, NoIpv6FormCarriesAForbiddenIpv4AddressThrough, ()) {  // N7
  const auto row = *rc::gen::elementOf(std::vector<Row>(std::begin(kRows), std::end(kRows)));
  auto v4 = *parse_address(row.address);
  if (v4.is_v6 || *rc::gen::arbitrary<bool>()) {
    v4 = {};
    for (std::size_t i = 0; i < 4; ++i) v4.bytes[i] = *rc::gen::arbitrary<std::uint8_t>();
  }
  RC_PRE(classify(v4) != global);
  std::array<std::uint8_t, 16> noise{};
  for (auto& byte : noise) byte = *rc::gen::arbitrary<std::uint8_t>();
  for (const auto& carrier : carriers_of(v4, noise)) {
    const auto kind = classify(carrier);
    RC_LOG() << v4.text() << " in " << carrier.text() << " is " << to_string(kind) << "\n";
    RC_ASSERT(kind != global);
    // ::0.0.0.1 is loopback before it is an address of this network.
    RC_ASSERT(kind >= classify(v4));
  }
}

RC_GTEST_PROP(AddressClassProperty, OnlyUnicastAndNat64AreEverGlobalInIpv6, ()) {  // N7
  std::array<std::uint8_t, 16> bytes{};
  for (auto& byte : bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
  const auto address = v6_address(bytes);
  if (address.is_v6 && classify(address) == global) RC_ASSERT((bytes[0] >> 5 == 1 || bytes[0] == 0));
}

}  // namespace
}  // namespace waybill
