// Which of many calls a process dies of, found with few deaths.  I2
#include "plugin_process/suspects.h"

#include <gtest/gtest.h>

#include <functional>

namespace waybill::plugin_process {
namespace {

using std::chrono::milliseconds;
using CallId = Suspects::CallId;

// A process with its calls, of which one kills it after a while.
struct World {
  Suspects suspects;
  std::vector<CallId> open;
  std::set<CallId> begun;
  Suspects::Time now{std::chrono::hours(1)};
  int deaths = 0;

  void begin_all() {
    begun.clear();
    suspects.begins(now);
    for (const auto call : open)
      if (suspects.may_begin(call)) begun.insert(call);
  }
  std::optional<CallId> die(std::optional<CallId> inside = {}) {
    ++deaths;
    now += milliseconds(100);
    const auto culprit = suspects.died({begun.begin(), begun.end()}, inside, now);
    if (culprit) std::erase(open, *culprit), suspects.ended(*culprit);
    begin_all();
    return culprit;
  }
  // Lets the time pass until more calls begin.
  void wait() {
    ASSERT_TRUE(suspects.due());
    now = *suspects.due();
    for (const auto call : suspects.tried(now)) begun.insert(call);
  }
};

World with_calls(CallId count) {
  World world;
  for (CallId call = 1; call <= count; ++call) world.open.push_back(call);
  world.begin_all();
  return world;
}

TEST(Suspects, NothingIsHeldBackWhileNothingDies) {
  auto world = with_calls(9);
  EXPECT_EQ(world.begun.size(), 9u);
  EXPECT_FALSE(world.suspects.due());
}

TEST(Suspects, ACallThatTheProcessWasInsideOfIsToBlameAtOnce) {
  auto world = with_calls(9);
  EXPECT_EQ(world.die(CallId{4}), CallId{4});
  EXPECT_EQ(world.begun.size(), 8u);
}

TEST(Suspects, EachCallIsFoundInFewDeaths) {
  for (CallId culprit = 1; culprit <= 64; ++culprit) {
    auto world = with_calls(64);
    std::optional<CallId> found;
    for (int turn = 0; turn < 100 && !found; ++turn)
      if (world.begun.contains(culprit))
        found = world.die();
      else
        world.wait();
    EXPECT_EQ(found, culprit);
    EXPECT_LE(world.deaths, 8) << culprit;  // all, six halvings, and once more alone
    EXPECT_EQ(world.begun.size(), 63u) << "all others go on";
  }
}

// One may be that of a call that is over.
TEST(Suspects, TheOnlyOneIsNotBlamedTheFirstTime) {
  auto world = with_calls(1);
  EXPECT_EQ(world.die(), std::nullopt);
  EXPECT_EQ(world.begun, std::set<CallId>{1});
  world.wait();
  EXPECT_FALSE(world.suspects.is_any());
  EXPECT_EQ(world.die(), std::nullopt) << "and not for a death long after";
}

TEST(Suspects, ThoseThatLiveOnAreClearedAndTheOthersBegin) {
  auto world = with_calls(8);
  world.die();
  EXPECT_EQ(world.begun.size(), 4u);
  world.wait();
  EXPECT_EQ(world.begun.size(), 6u);
  world.die();  // of one of the two that came last
  for (const CallId call : {1, 2, 3, 4}) EXPECT_TRUE(world.begun.contains(call)) << call;
}

TEST(Suspects, CallsThatComeMeanwhileBeginLater) {
  auto world = with_calls(4);
  world.die();
  EXPECT_FALSE(world.suspects.may_begin(5));
  for (int turn = 0; turn < 10 && world.suspects.is_any(); ++turn) world.wait();
  EXPECT_TRUE(world.begun.contains(5));
  EXPECT_TRUE(world.suspects.may_begin(6));
}

TEST(Suspects, CallsThatEndAreForgotten) {
  auto world = with_calls(2);
  world.die();
  for (const CallId call : {1, 2}) world.suspects.ended(call);
  EXPECT_FALSE(world.suspects.is_any());
}

TEST(Suspects, ADeathWithoutCallsSuspectsNobody) {
  World world;
  world.begin_all();
  EXPECT_EQ(world.die(), std::nullopt);
  EXPECT_FALSE(world.suspects.is_any());
}

}  // namespace
}  // namespace waybill::plugin_process
