// Hosts and origins as clients and browsers write them, and as nobody should.  S5 S7
#include "http/host_header.h"

#include <gtest/gtest.h>

#include "http/access.h"
#include "http/forwarded.h"

namespace waybill::http {
namespace {

TEST(HostHeader, IsAHostAndAtMostAPort) {  // S5
  EXPECT_EQ(parse_authority("Example.ORG"), (Authority{"example.org", ""}));
  EXPECT_EQ(parse_authority("a_b-c.d:8080"), (Authority{"a_b-c.d", "8080"}));
  EXPECT_EQ(parse_authority("[::1]:80"), (Authority{"::1", "80"}));
  EXPECT_EQ(parse_authority("[FD00::1]"), (Authority{"fd00::1", ""}));
  for (const auto* bad :
       {"",    ":",   ":80", "a:",   "a:0",  "a:65536", "a:99999",   "a:8 0",   "a:+1",   "a:1:2", "a b",  "a/b",  "a@b",
        "a,b", "a?b", "a#b", "a%41", "[::1", "::1",     "[1.2.3.4]", "[::1]80", "[::1]:", "[]",    "a\\b", "a\"b", "\xc3\xa9"})
    EXPECT_FALSE(parse_authority(bad)) << bad;
  EXPECT_FALSE(parse_authority(std::string(254, 'a')));
}

TEST(HostHeader, OfAnAbsoluteTargetIsThatOfHttpAndHttpsOnly) {  // S5
  EXPECT_EQ(authority_of("http://a:1/b"), "a:1");
  EXPECT_EQ(authority_of("HTTPS://a?b"), "a");
  EXPECT_EQ(authority_of("http://a"), "a");
  for (const auto* none : {"/a", "ftp://a/", "a", "*", "gopher://a", "://a", "httpx://a", "/http://a"})
    EXPECT_FALSE(authority_of(none)) << none;
}

TEST(HostHeader, LoopbackHasFewNames) {  // S7
  for (const auto* name : {"localhost", "127.0.0.1", "127.8.9.1", "::1"}) EXPECT_TRUE(is_loopback_name(name)) << name;
  for (const auto* name : {"", "localhost.", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "127.1", "2130706433",
                           "::", "::ffff:127.0.0.1"})
    EXPECT_FALSE(is_loopback_name(name)) << name;
}

TEST(HostHeader, AnOriginIsTheSameByHostAndPort) {  // S7
  EXPECT_TRUE(is_same_origin("http://localhost:8080", "LOCALHOST:8080"));
  EXPECT_TRUE(is_same_origin("https://w.example", "w.example"));
  EXPECT_TRUE(is_same_origin("https://w.example:443", "w.example"));
  for (const auto* other : {"http://localhost:8081", "http://localhost", "null", "", "localhost:8080", "http://localhost:8080/x",
                            "file://localhost:8080", "http://evil@localhost:8080", "http://127.0.0.1:8080"})
    EXPECT_FALSE(is_same_origin(other, "localhost:8080")) << other;
}

Route post_route(std::string path, Role role) {
  return {.method = "POST", .path = std::move(path), .least_role = role, .handle = [](Request, Reply) {}};
}

int status(const Route& asked, Sender sender, bool has_tokens) {
  const auto refusal = origin_refusal(asked, sender, has_tokens, {"waybill.test"});
  return refusal ? refusal->status : 200;
}

TEST(Origin, WithoutTokensOnlyOurOwnNamesAndPagesAreHeard) {  // S7
  const auto intents = post_route("/v1/intents", Role::member);
  for (const auto* host : {"localhost:8080", "127.0.0.1", "[::1]:8080", "waybill.test", "WAYBILL.test:8080"})
    EXPECT_EQ(status(intents, {host, std::nullopt}, false), 200) << host;
  for (const auto* host : {"evil.example", "localhost.evil.example", "0.0.0.0:8080", "waybill.test.evil.example"})
    EXPECT_EQ(status(intents, {host, std::nullopt}, false), 403) << host;
  EXPECT_EQ(status(intents, {"localhost:8080", "http://localhost:8080"}, false), 200);
  EXPECT_EQ(status(intents, {"localhost:8080", "http://evil.example"}, false), 403);
  EXPECT_EQ(status(intents, {"localhost:8080", "null"}, false), 403);
  EXPECT_EQ(status(post_route("/healthz", Role::none), {"evil.example", "http://evil.example"}, false), 200);
}

TEST(Origin, WithTokensOnlyPagesAskWhoSendsThem) {  // S7
  EXPECT_EQ(status(post_route("/v1/intents", Role::member), {"w.example", "http://evil.example"}, true), 200);
  EXPECT_EQ(status(post_route("/ui/history", Role::member), {"w.example", "http://evil.example"}, true), 403);
  EXPECT_EQ(status(post_route("/ui/history", Role::member), {"w.example", "https://w.example"}, true), 200);
  EXPECT_EQ(status(post_route("/ui/history", Role::member), {"w.example", std::nullopt}, true), 200);
}

TEST(Forwarded, AddressesAreBelievedFromTheRightAsFarAsProxiesWroteThem) {  // S14
  const std::vector<AddressRange> proxies{*parse_range("10.0.0.0/8"), *parse_range("127.0.0.1")};
  EXPECT_EQ(client_address("192.0.2.9", "198.51.100.1", proxies), "192.0.2.9") << "a stranger's word";
  EXPECT_EQ(client_address("10.0.0.1", "198.51.100.1", proxies), "198.51.100.1");
  EXPECT_EQ(client_address("10.0.0.1", "1.1.1.1, 198.51.100.1", proxies), "198.51.100.1");
  EXPECT_EQ(client_address("127.0.0.1", "1.1.1.1 , 198.51.100.1,10.2.3.4", proxies), "198.51.100.1");
  EXPECT_EQ(client_address("10.0.0.1", "", proxies), "10.0.0.1");
  EXPECT_EQ(client_address("10.0.0.1", "unknown", proxies), "10.0.0.1");
  EXPECT_EQ(client_address("10.0.0.1", "2001:db8::1", proxies), "2001:db8::1");
  EXPECT_EQ(client_address("10.0.0.1", "198.51.100.1:4711", proxies), "198.51.100.1");
  EXPECT_EQ(client_address("10.0.0.1", "[2001:db8::1]:4711", proxies), "2001:db8::1");
  for (const auto* nobody : {"[", "[]", "[:1", ":", "a:1"})
    EXPECT_EQ(client_address("10.0.0.1", nobody, proxies), "10.0.0.1") << nobody;
}

}  // namespace
}  // namespace waybill::http
