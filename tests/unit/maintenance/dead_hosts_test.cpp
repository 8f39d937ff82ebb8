// Who is dead is decided by two looks at one and the same death, never by one, and never by two deaths.  E7
#include "maintenance/dead_hosts.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

class HostWatching : public ::testing::Test {
 protected:
  // So many of the hosts that are seen `after` the begin are dead.
  std::size_t dead(Millis after, const std::vector<HostObservation>& seen) {
    return watch.dead(begin + after, begin + after + Millis(1), seen).size();
  }
  static HostObservation without_lock(std::int64_t version) { return {.id = {7}, .version = version, .lives = false}; }
  static HostObservation alive(std::int64_t version) { return {.id = {7}, .version = version, .lives = true}; }

  const Clock::Monotonic begin{std::chrono::hours(1)};
  HostWatch watch{Millis(500)};
};

TEST_F(HostWatching, AHostWithoutItsLockAtTwoLooksFarEnoughApartIsDead) {
  EXPECT_EQ(dead(Millis(0), {without_lock(1)}), 0u);
  EXPECT_EQ(dead(Millis(500), {without_lock(1)}), 0u) << "counted from when the first look was answered";
  EXPECT_EQ(dead(Millis(501), {without_lock(1)}), 1u);
}

TEST_F(HostWatching, AHostThatWasSeenAliveInBetweenIsNot) {
  EXPECT_EQ(dead(Millis(0), {without_lock(1)}), 0u);
  EXPECT_EQ(dead(Millis(400), {alive(2)}), 0u);
  EXPECT_EQ(dead(Millis(800), {without_lock(2)}), 0u);
}

// Nobody saw it alive, but its row is another version: it came back, and lost its session again just now.
TEST_F(HostWatching, AHostThatCameBackUnseenInBetweenIsNot) {
  EXPECT_EQ(dead(Millis(0), {without_lock(1)}), 0u);
  EXPECT_EQ(dead(Millis(800), {without_lock(2)}), 0u);
  EXPECT_EQ(dead(Millis(1'200), {without_lock(2)}), 0u);
  EXPECT_EQ(dead(Millis(1'400), {without_lock(2)}), 1u);
}

TEST_F(HostWatching, AfterALookThatFailedTheNextIsAFirstOne) {
  EXPECT_EQ(dead(Millis(0), {without_lock(1)}), 0u);
  watch.forget();
  EXPECT_EQ(dead(Millis(800), {without_lock(1)}), 0u);
  EXPECT_EQ(dead(Millis(1'400), {without_lock(1)}), 1u);
}

}  // namespace
}  // namespace waybill
