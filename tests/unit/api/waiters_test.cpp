// Requests that wait are told once: when their submission moves, or when their time is over.  M5
#include "api/waiters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/call_builders.h"
#include "support/eventually.h"
#include "unit/api/read_world.h"

namespace waybill {
namespace {

using testing::eventually;
using testing::ManualClock;
using testing::ReadWorld;

class Waiting : public ::testing::Test {
 protected:
  std::function<void()> tell(std::atomic<int>& counter) {
    return [&counter] { ++counter; };
  }
  // True when the poll has looked at the database again, so whatever it could have told, it has told.
  bool looked_again() {
    const int before = world.moved_calls;
    return eventually([&] { return world.moved_calls >= before + 2; });
  }

  ManualClock clock;
  ReadWorld world;
  ReadPool pool{world.sessions(2)};
  std::optional<Waiters> waiters{std::in_place, pool, clock};
  void SetUp() override {
    pool.start();
    waiters->start();
  }
  std::atomic<int> a{0}, b{0}, c{0};
};

TEST_F(Waiting, WhoWaitsIsToldWhenTheSubmissionMoves) {  // M5
  waiters->add({1}, Seconds(10), tell(a));
  waiters->add({1}, Seconds(20), tell(b));
  waiters->add({2}, Seconds(10), tell(c));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(a + b + c, 0);
  waiters->moved({{1}, {3}});
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 1);
  EXPECT_EQ(c, 0);
  waiters->moved({{1}});
  EXPECT_EQ(a, 1) << "once";
}

TEST_F(Waiting, WhoWaitsIsToldWhenTheTimeIsOver) {  // M5
  waiters->add({1}, Seconds(10), tell(a));
  waiters->add({1}, Seconds(20), tell(b));
  ASSERT_TRUE(looked_again());
  clock.pass(Seconds(10) - Micros(1));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(a, 0);
  clock.pass(Micros(1));
  ASSERT_TRUE(eventually([&] { return a == 1; }));
  EXPECT_EQ(b, 0);
  clock.pass(Seconds(10));
  ASSERT_TRUE(eventually([&] { return b == 1; }));
  waiters->moved({{1}});
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 1);
}

TEST_F(Waiting, WhatMovedBeforeTheWaitBeganIsToldAtOnce) {  // M5
  world.move({1});
  waiters->add({1}, Seconds(10), tell(a));
  EXPECT_TRUE(eventually([&] { return a == 1; }));
}

TEST_F(Waiting, WhatAnotherHostMovedIsFoundByThePoll) {  // M5 M18
  waiters->add({1}, Seconds(10), tell(a));
  waiters->add({2}, Seconds(10), tell(b));
  ASSERT_TRUE(looked_again());
  world.move({1});
  EXPECT_TRUE(eventually([&] { return a == 1; }));
  EXPECT_EQ(b, 0);
}

TEST_F(Waiting, ADatabaseThatIsAwayEndsNoWait) {  // M5
  world.away = true;
  waiters->add({1}, Seconds(10), tell(a));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(a, 0);
  world.move({1});
  world.away = false;
  EXPECT_TRUE(eventually([&] { return a == 1; }));
}

// S1: one question about all that came while another was asked, and no more than so many who wait
TEST_F(Waiting, ManyWhoComeAtOnceAreAFewQuestionsAndTooManyAreToldAtOnce) {
  for (std::size_t i = 0; i < kMaxWaiters; ++i) waiters->add({static_cast<std::int64_t>(i)}, Seconds(1000), tell(a));
  EXPECT_FALSE(waiters->has_room());
  EXPECT_EQ(a, 0);
  EXPECT_LT(world.moved_calls, static_cast<int>(kMaxWaiters) / 2);
  waiters->add({1}, Seconds(1000), tell(b));
  EXPECT_EQ(b, 1);
  waiters->moved({{1}});
  EXPECT_TRUE(waiters->has_room());
}

TEST_F(Waiting, WhoStillWaitsAtTheEndIsTold) {  // M5
  for (int i = 0; i < 50; ++i) waiters->add({i % 5}, Seconds(10), tell(a));
  waiters.reset();
  EXPECT_EQ(a, 50);
}

TEST_F(Waiting, ItsEndWaitsForTheQuestionThatIsUnderWay) {  // M5
  world.hold_moved();
  waiters->add({1}, Seconds(10), tell(a));
  EXPECT_TRUE(eventually([&] { return world.moved_calls >= 1; }));
  std::atomic<bool> gone{false};
  std::jthread end([&] {
    waiters.reset();
    gone = true;
  });
  EXPECT_TRUE(eventually([&] { return a == 1; }));  // told before its end waits
  EXPECT_FALSE(gone);
  world.release_moved();
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

TEST_F(Waiting, EachOfManyIsToldOnceWhateverComesFirst) {  // M5
  constexpr int kMany = 400;
  std::vector<std::atomic<int>> told(kMany);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = t; i < kMany; i += 4) {
          waiters->add({i}, i % 3 == 0 ? Millis(0) : Millis(Seconds(1000)), tell(told[static_cast<std::size_t>(i)]));
          if (i % 3 == 1) waiters->moved({{i}});
          if (i % 3 == 2) world.move({i});
        }
      });
  }
  EXPECT_TRUE(eventually([&] { return std::all_of(told.begin(), told.end(), [](const auto& one) { return one == 1; }); }));
  waiters.reset();
  for (const auto& one : told) EXPECT_EQ(one, 1);
}

TEST(WaitersAndTheirPool, StopInThisOrderTellEverybodyAndAskNothingOfWhatIsGone) {  // M5
  ManualClock clock;
  ReadWorld world;
  std::atomic<int> told{0};
  for (int round = 0; round < 100; ++round) {
    ReadPool pool(world.sessions(1));
    std::optional<Waiters> waiters(std::in_place, pool, clock);
    pool.start();
    waiters->start();
    world.move({round});
    for (int i = 0; i < 20; ++i) waiters->add({round + i % 2}, Seconds(10), [&] { ++told; });
    waiters->stop();
    waiters->add({round}, Seconds(10), [&] { ++told; });  // who comes later is told at once
    pool.stop();
    waiters.reset();
  }
  EXPECT_EQ(told, 100 * 21);
}

}  // namespace
}  // namespace waybill
