// The operator's rules, and who they are for.  N7
#include "egress/egress_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace waybill {
namespace {

IpAddress address(const char* text) { return *parse_address(text); }

EgressRules rules(std::initializer_list<const char*> allow, EgressGuard guard = EgressGuard::standard) {
  EgressRules out{.allow = {}, .guard = guard};
  for (const auto* entry : allow) out.allow.push_back(*parse_egress_exception(entry));
  return out;
}

bool allows(const EgressPolicy& policy, Trust trust, const char* text, std::uint16_t port = 443) {
  return !policy.refusal(address(text), port, trust);
}

TEST(EgressPolicy, ATenantReachesPublicAddressesOnly) {  // N7
  const EgressPolicy policy;
  for (const auto* good : {"8.8.8.8", "2606:4700::1111"}) EXPECT_TRUE(allows(policy, Trust::tenant, good)) << good;
  for (const auto* bad : {"127.0.0.1", "10.0.0.5", "169.254.169.254", "169.254.1.1", "::1", "fd00::1", "fe80::1", "224.0.0.1",
                          "0.0.0.0", "192.0.2.1", "100.64.0.1", "2002:808:808::"})
    EXPECT_FALSE(allows(policy, Trust::tenant, bad)) << bad;
}

TEST(EgressPolicy, TheRegistryReachesLoopbackAndPrivateAddressesButNoMetadata) {  // N7
  const EgressPolicy policy;
  for (const auto* good : {"8.8.8.8", "127.0.0.1", "10.0.0.5", "192.168.0.1", "100.64.0.1", "::1", "fd00::1", "192.0.2.1"})
    EXPECT_TRUE(allows(policy, Trust::registry, good)) << good;
  for (const auto* bad : {"169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "224.0.0.1", "ff02::1",
                          "::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::"})
    EXPECT_FALSE(allows(policy, Trust::registry, bad)) << bad;
}

TEST(EgressPolicy, WhatIsDeniedIsDeniedToAllWhateverElseIsSaid) {  // S12
  for (const auto guard : {EgressGuard::standard, EgressGuard::strict, EgressGuard::off}) {
    auto written = rules({"10.0.0.0/8", "169.254.169.254"}, guard);
    for (const auto* entry : {"10.1.0.0/16", "8.8.8.0/24:53", "169.254.169.254", "2606:4700::/32"})
      written.deny.push_back(*parse_egress_exception(entry));
    const EgressPolicy policy(written);
    for (const auto trust : {Trust::tenant, Trust::registry}) {
      for (const auto* bad :
           {"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::1", "169.254.169.254", "2606:4700::1111"}) {
        const auto why = policy.refusal(address(bad), 443, trust);
        ASSERT_TRUE(why) << bad;
        EXPECT_EQ(to_string(*why), "denied") << bad;
      }
      EXPECT_TRUE(allows(policy, trust, "10.2.0.1"));
      EXPECT_TRUE(allows(policy, trust, "8.8.8.8", 443));
      EXPECT_FALSE(allows(policy, trust, "8.8.8.8", 53));
    }
  }
}

TEST(EgressPolicy, TheGuardOfTheRegistryCanBeStricterOrOffAndTenantsDoNotNotice) {  // N7
  const EgressPolicy strict(rules({}, EgressGuard::strict)), off(rules({}, EgressGuard::off));
  EXPECT_FALSE(allows(strict, Trust::registry, "127.0.0.1"));
  EXPECT_TRUE(allows(strict, Trust::registry, "8.8.8.8"));
  EXPECT_TRUE(allows(off, Trust::registry, "169.254.169.254"));
  for (const auto* policy : {&strict, &off}) {
    EXPECT_FALSE(allows(*policy, Trust::tenant, "127.0.0.1"));
    EXPECT_FALSE(allows(*policy, Trust::tenant, "169.254.169.254"));
  }
}

TEST(EgressPolicy, TheAllowListOpensARangeOnItsPortForEverybody) {  // N7
  const EgressPolicy policy(rules({"127.0.0.1/32:8025", "10.1.0.0/16", "[fd00::]/8:80"}, EgressGuard::strict));
  for (const auto trust : {Trust::tenant, Trust::registry}) {
    EXPECT_TRUE(allows(policy, trust, "127.0.0.1", 8025));
    EXPECT_FALSE(allows(policy, trust, "127.0.0.1", 8026));
    EXPECT_FALSE(allows(policy, trust, "127.0.0.2", 8025));
    EXPECT_TRUE(allows(policy, trust, "10.1.255.255", 1));
    EXPECT_FALSE(allows(policy, trust, "10.2.0.0", 1));
    EXPECT_TRUE(allows(policy, trust, "::ffff:10.1.0.1", 1)) << "that is what is connected to";
    EXPECT_FALSE(allows(policy, trust, "64:ff9b::10.1.0.1", 1)) << "a translator is another way";
    EXPECT_TRUE(allows(policy, trust, "fd12::1", 80));
    EXPECT_FALSE(allows(policy, trust, "fd12::1", 443));
  }
}

TEST(EgressPolicy, AMetadataAddressIsAllowedByItsOwnEntryOnly) {  // N7
  const EgressPolicy wide(rules({"0.0.0.0/0", "169.254.0.0/16", "::/0"}));
  const EgressPolicy exact(rules({"169.254.169.254"}));
  for (const auto trust : {Trust::tenant, Trust::registry}) {
    EXPECT_FALSE(allows(wide, trust, "169.254.169.254", 80));
    EXPECT_FALSE(allows(wide, trust, "100.100.100.200", 80));
    EXPECT_FALSE(allows(wide, trust, "fd00:ec2::254", 80));
    EXPECT_TRUE(allows(wide, trust, "169.254.1.1", 80));
    EXPECT_TRUE(allows(wide, trust, "10.0.0.1", 80));
    EXPECT_TRUE(allows(exact, trust, "169.254.169.254", 80));
  }
}

TEST(EgressPolicy, TheHostsOwnAddressesAreInsideHoweverPublicTheyLook) {  // N7
  const EgressPolicy policy({}, [] { return std::vector{address("8.8.4.4"), address("2606:4700::1")}; });
  EXPECT_EQ(policy.refusal(address("8.8.4.4"), 443, Trust::tenant), AddressClass::own);
  EXPECT_EQ(policy.refusal(address("2606:4700::1"), 443, Trust::tenant), AddressClass::own);
  EXPECT_TRUE(allows(policy, Trust::tenant, "8.8.8.8"));
  EXPECT_TRUE(allows(policy, Trust::registry, "8.8.4.4"));
  const EgressPolicy opened(rules({"8.8.4.4"}), [] { return std::vector{address("8.8.4.4")}; });
  EXPECT_TRUE(allows(opened, Trust::tenant, "8.8.4.4"));
}

TEST(EgressPolicy, TheHostsOwnAddressesAreInsideWhereverTheyAreCarried) {  // T23
  const EgressPolicy policy(rules({}, EgressGuard::strict), [] { return std::vector{address("8.8.4.4")}; });
  for (const auto trust : {Trust::tenant, Trust::registry}) {
    for (const auto* own : {"64:ff9b::8.8.4.4", "2606:4700::5efe:8.8.4.4", "2606:4700::200:5efe:8.8.4.4", "::ffff:8.8.4.4"})
      EXPECT_EQ(policy.refusal(address(own), 443, trust), AddressClass::own) << own;
    for (const auto* other : {"64:ff9b::8.8.8.8", "2606:4700::5efe:8.8.8.8", "2606:4700::808:404"})
      EXPECT_TRUE(allows(policy, trust, other)) << other;
    for (const auto* tunnel : {"2002:808:404::1", "2001:0:808:404::1", "::8.8.4.4", "::ffff:0:8.8.4.4", "64:ff9b:1::8.8.4.4"})
      EXPECT_FALSE(allows(policy, trust, tunnel)) << tunnel;
  }
  const EgressPolicy opened(rules({"64:ff9b::8.8.4.4"}), [] { return std::vector{address("8.8.4.4")}; });
  EXPECT_TRUE(allows(opened, Trust::tenant, "64:ff9b::8.8.4.4"));
}

TEST(EgressPolicy, TheHostsAddressesAreReadFromItsInterfaces) {  // N7
  const auto own = interface_addresses();
  EXPECT_NE(std::find(own.begin(), own.end(), address("127.0.0.1")), own.end());
}

TEST(EgressException, IsARangeAndPerhapsAPort) {  // N7
  struct Good {
    const char* text;
    const char* range;
    std::optional<std::uint16_t> port;
  };
  const Good good[] = {
      {"127.0.0.1", "127.0.0.1/32", {}},
      {"127.0.0.1:8025", "127.0.0.1/32", 8025},
      {"127.0.0.1/32:8025", "127.0.0.1/32", 8025},
      {"10.1.0.0/16", "10.1.0.0/16", {}},
      {"10.1.0.0/16:443", "10.1.0.0/16", 443},
      {"::1", "::1/128", {}},
      {"fd00::/8", "fd00::/8", {}},
      {"[::1]", "::1/128", {}},
      {"[::1]:80", "::1/128", 80},
      {"[::1]/128:80", "::1/128", 80},
      {"[fd00::]/8", "fd00::/8", {}},
      {"[fd00::]/8:65535", "fd00::/8", 65535},
  };
  for (const auto& row : good) {
    const auto entry = parse_egress_exception(row.text);
    ASSERT_TRUE(entry) << row.text;
    EXPECT_EQ(entry->range, *parse_range(row.range)) << row.text;
    EXPECT_EQ(entry->port, row.port) << row.text;
  }
  for (const auto* bad :
       {"", ":80", "localhost", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/8:", "10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.0/8:http",
        "10.0.0.0/8:80:80", "[10.0.0.1]:80", "[::1", "[::1]80", "[::1/128]", "::1/128:80", "10.0.0.0 /8", "127.1"})
    EXPECT_FALSE(parse_egress_exception(bad)) << bad;
}

}  // namespace
}  // namespace waybill
