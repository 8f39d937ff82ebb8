// How addresses and ranges are read.  N7
#include "egress/ip_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace waybill {
namespace {

std::string text_of(const std::optional<IpAddress>& address) { return address ? address->text() : "none"; }

TEST(IpAddress, IsReadInItsPlainFormOnly) {  // N7
  for (const auto* good : {"1.2.3.4", "0.0.0.0", "255.255.255.255", "::", "::1", "2001:db8::1"})
    EXPECT_EQ(text_of(parse_address(good)), good);
  for (const auto* bad : {"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0x1.2.3.4", "256.1.1.1", " 1.2.3.4", "1.2.3.4 ", "[::1]",
                          "::1%lo", "1::2::3", "12345::", "example.com"})
    EXPECT_EQ(text_of(parse_address(bad)), "none") << bad;
  EXPECT_EQ(text_of(parse_address(std::string_view("1.2.3.4\0x", 9))), "none");
}

TEST(IpAddress, AMappedAddressIsTheV4AddressThatIsConnectedTo) {  // N7
  EXPECT_EQ(text_of(parse_address("::ffff:10.0.0.5")), "10.0.0.5");
  EXPECT_EQ(parse_address("::ffff:a00:5"), parse_address("10.0.0.5"));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
  EXPECT_EQ(address_of(reinterpret_cast<const sockaddr&>(six)), parse_address("127.0.0.1"));
}

TEST(IpAddress, OtherFamiliesAreNone) {  // N7
  sockaddr plain{};
  plain.sa_family = AF_UNIX;
  EXPECT_FALSE(address_of(plain));
}

TEST(IpAddress, AResolversFormsAreUnderstoodAsTheSystemUnderstandsThem) {  // N7
  for (const auto* text :
       {"127.0.0.1",   "127.1",     "127.0.1",    "2130706433", "0x7f000001", "017700000001", "0177.0.0.1",
        "0x7f.0.0.01", "0",         "0x0",        "00",         "0.0",        "1.16777215",   "1.16777216",
        "1.2.65535",   "1.2.65536", "4294967295", "4294967296", "256.1",      "1.2.3.256",    "08.1.1.1",
        "09",          "1.2.3.4.5", "0xg",        "1..2",       ".1",         "0X7F.1",       "010.010.010.010"}) {
    in_addr theirs{};
    char shown[INET_ADDRSTRLEN] = "none";
    if (inet_aton(text, &theirs) == 1) inet_ntop(AF_INET, &theirs, shown, sizeof shown);
    EXPECT_EQ(text_of(parse_resolver_v4(text)), shown) << text;
  }
  EXPECT_FALSE(parse_resolver_v4("1."));
  EXPECT_FALSE(parse_resolver_v4(""));
  EXPECT_FALSE(parse_resolver_v4("1.2.3.4 x"));
}

TEST(AddressRange, ContainsWhatSharesItsPrefix) {  // N7
  const auto in = [](const char* range, const char* address) { return parse_range(range)->contains(*parse_address(address)); };
  EXPECT_TRUE(in("10.0.0.0/8", "10.255.255.255"));
  EXPECT_FALSE(in("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(in("172.16.0.0/12", "172.31.0.1"));
  EXPECT_FALSE(in("172.16.0.0/12", "172.32.0.1"));
  EXPECT_TRUE(in("0.0.0.0/0", "203.0.113.1"));
  EXPECT_FALSE(in("0.0.0.0/0", "::1"));
  EXPECT_TRUE(in("10.0.0.5", "::ffff:10.0.0.5"));
  EXPECT_TRUE(in("fc00::/7", "fdff::1"));
  EXPECT_FALSE(in("fc00::/7", "fe00::1"));
  EXPECT_TRUE(in("2001:db8::1/128", "2001:db8::1"));
  EXPECT_FALSE(in("2001:db8::1/128", "2001:db8::2"));
}

TEST(AddressRange, IsRefusedWithABadPrefixOrBitsBehindIt) {  // N7
  for (const auto* bad : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/8", "10.1.0.0/15",
                          "::1/64", "::/129", "10.0.0.0/8/8", "10/8"})
    EXPECT_FALSE(parse_range(bad)) << bad;
}

}  // namespace
}  // namespace waybill
