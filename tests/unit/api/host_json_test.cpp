// How a host is, in one word, by what it says of itself and what the database knows of it.  O5
#include "api/host_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/host_report.h"

namespace waybill {
namespace {

ListedHost host(const std::string& facts, std::optional<Micros> told_ago = Micros{0}) {
  return {.name = "mail-1", .process = LivingHost{"box:1", told_ago, facts}, .lives = true, .drain = {}};
}
ListedHost drained(ListedHost one) {
  one.drain = HostDrain{{1}, "new kernel", "ada"};
  return one;
}

// O5
TEST(HostStates, AreWhatItSaysAndWhatIsKnownOfIt) {
  const std::string ready = R"({"notReady": "", "drain": "", "inFlight": 2})";
  EXPECT_EQ(state_of(host(ready)), "ready");
  EXPECT_EQ(state_of(host(R"({"notReady": "no database"})")), "not_ready");
  EXPECT_EQ(state_of(host("")), "unknown");
  EXPECT_EQ(state_of(host("{}", std::nullopt)), "unknown") << "of a version that says nothing";
  EXPECT_EQ(state_of(host("no JSON")), "unknown");
  EXPECT_EQ(state_of(host(R"({"draining": true, "notReady": "x"})")), "ending");
  EXPECT_EQ(state_of(host(ready, kHostSilent)), "ready");
  EXPECT_EQ(state_of(host(ready, kHostSilent + Micros{1})), "silent");
  auto dead = host(ready);
  dead.lives = false;
  EXPECT_EQ(state_of(dead), "dead");
  dead.process = {};
  EXPECT_EQ(state_of(dead), "away");
}

// O5
TEST(HostStates, OneIsDrainedWhenItHasHeardOfItAndHasNothing) {
  EXPECT_EQ(state_of(drained(host(R"({"notReady": "", "drain": "", "inFlight": 0})"))), "draining") << "it has not heard of it";
  EXPECT_EQ(state_of(drained(host(R"({"notReady": "x", "drain": "at noon", "inFlight": 1})"))), "draining");
  EXPECT_EQ(state_of(drained(host(R"({"notReady": "x", "drain": "at noon", "inFlight": 0})"))), "drained");
  EXPECT_EQ(state_of(drained(host(R"({"notReady": ""})"))), "draining") << "of a version that knows no drains";
}

// O5
TEST(HostStates, OnlyOthersThatClaimTakeOver) {
  auto other = host(R"({"notReady": ""})");
  other.name = "mail-2";
  auto own = drained(host(R"({"notReady": "x", "drain": "at noon", "inFlight": 0})"));
  EXPECT_EQ(claiming_beside({own, other}, "mail-1"), 1u);
  EXPECT_EQ(claiming_beside({own, drained(other)}, "mail-1"), 0u);
  other.lives = false;
  EXPECT_EQ(claiming_beside({own, other}, "mail-1"), 0u);
  EXPECT_EQ(listed_json({own})["items"][0]["drain"]["reason"], "new kernel");
}

}  // namespace
}  // namespace waybill
