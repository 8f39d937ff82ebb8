// What an address may have open, and all addresses together.  S2
#include "http/peers.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace waybill::http {
namespace {

using Refusal = ByteShare::Refusal;

TEST(Peers, AnIpv6AddressStandsForItsNetwork) {  // S2
  EXPECT_EQ(peer_key("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(peer_key("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(peer_key("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(peer_key("fe80::1%eth0"), "fe80::/64");
  Peers peers({.bytes = 1, .bytes_in_all = 1});
  const auto one = peers.find("2001:db8::1");
  EXPECT_EQ(one, peers.find("2001:db8::2"));
  EXPECT_NE(one, peers.find("2001:db8:0:1::1"));
}

TEST(Peers, BytesAreGivenOutUpToBothLimitsAndComeBack) {  // S2
  Peers peers({.bytes = 100, .bytes_in_all = 150});
  const auto a = peers.find("192.0.2.1");
  const auto b = peers.find("192.0.2.2");
  ByteShare first(peers);
  EXPECT_EQ(first.raise(a, 60), Refusal::none);
  EXPECT_EQ(first.raise(a, 100), Refusal::none);
  EXPECT_EQ(first.raise(a, 101), Refusal::peer);
  EXPECT_EQ(first.raise(a, 50), Refusal::none) << "less is no change";
  EXPECT_EQ(peers.bytes(), 100u);
  {
    ByteShare second(peers);
    EXPECT_EQ(second.raise(a, 1), Refusal::peer);
    EXPECT_EQ(second.raise(b, 51), Refusal::all);
    EXPECT_EQ(second.raise(b, 50), Refusal::none);
    EXPECT_EQ(peers.bytes(), 150u);
  }
  EXPECT_EQ(peers.bytes(), 100u);
  first.release();
  EXPECT_EQ(peers.bytes(), 0u);
  EXPECT_EQ(first.raise(a, 100), Refusal::none) << "nothing was left behind by refusals";
}

TEST(Peers, ARequestMovesToTheClientThatAProxyNames) {  // S2 S14
  Peers peers({.bytes = 100, .bytes_in_all = 200});
  const auto proxy = peers.find("10.0.0.1");
  ByteShare share(peers);
  ASSERT_EQ(share.raise(proxy, 100), Refusal::none);
  ASSERT_EQ(share.raise(peers.find("192.0.2.1"), 40), Refusal::none);
  EXPECT_EQ(peers.bytes(), 40u);
  ByteShare other(peers);
  EXPECT_EQ(other.raise(proxy, 100), Refusal::none);
}

TEST(Peers, ManyThreadsNeverHoldMoreThanThereIs) {  // S2
  Peers peers({.bytes = 1000, .bytes_in_all = 1000});
  std::atomic<bool> was_exceeded = false;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      const auto peer = peers.find("192.0.2.1");
      for (int i = 0; i < 20'000; ++i) {
        ByteShare share(peers);
        if (share.raise(peer, 300) == Refusal::none && share.raise(peer, 700) == Refusal::none && peers.bytes() < 700)
          was_exceeded = true;
      }
    });
  threads.clear();
  EXPECT_FALSE(was_exceeded);
  EXPECT_EQ(peers.bytes(), 0u);
}

TEST(Peers, ConnectionsAreCountedByAddress) {  // S2
  Peers peers({.bytes = 1, .bytes_in_all = 1});
  const ConnectionPlace first(peers.find("192.0.2.1"));
  EXPECT_EQ(first.connections(), 1u);
  {
    const ConnectionPlace second(peers.find("192.0.2.1"));
    EXPECT_EQ(second.connections(), 2u);
    const ConnectionPlace elsewhere(peers.find("192.0.2.2"));
    EXPECT_EQ(elsewhere.connections(), 1u);
  }
  const ConnectionPlace again(peers.find("192.0.2.1"));
  EXPECT_EQ(again.connections(), 2u);
}

}  // namespace
}  // namespace waybill::http
