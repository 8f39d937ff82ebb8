// The event loop: order of tasks, timers, file descriptors, waking from other threads.  H4
#include "services/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace waybill {
namespace {

using namespace std::chrono_literals;

TEST(EventLoop, PostedTasksRunInTheirOrder) {
  EventLoop loop;
  std::string seen;
  loop.post([&] {
    seen += "a";
    loop.post([&] {
      seen += "c";
      loop.stop();
    });
  });
  loop.post([&] { seen += "b"; });
  loop.run();
  EXPECT_EQ(seen, "abc");
}

TEST(EventLoop, ATaskFromAnotherThreadWakesALoopThatSleeps) {
  EventLoop loop;
  std::atomic<bool> turned{false};
  loop.at_turn_end([&] { turned = true; });
  std::thread thread([&] { loop.run(); });
  loop.post([] {});
  while (!turned) std::this_thread::yield();  // now it sleeps or is about to
  loop.post([&] { loop.stop(); });
  thread.join();
}

TEST(EventLoop, NoTaskIsLostWhenManyThreadsPost) {
  EventLoop loop;
  int sum = 0;
  constexpr int kThreads = 4, kEach = 5000;
  std::vector<std::thread> posters;
  for (int i = 0; i < kThreads; ++i)
    posters.emplace_back([&] {
      for (int n = 0; n < kEach; ++n)
        loop.post([&] {
          if (++sum == kThreads * kEach) loop.stop();
        });
    });
  loop.run();
  for (auto& poster : posters) poster.join();
  EXPECT_EQ(sum, kThreads * kEach);
}

TEST(EventLoop, TimersFireInTheOrderOfTheirTimesAndCancelledOnesDoNot) {
  EventLoop loop;
  std::string seen;
  loop.after(20ms, [&] {
    seen += "2";
    loop.stop();
  });
  const auto cancelled = loop.after(10ms, [&] { seen += "x"; });
  loop.after(0ms, [&] {
    seen += "1";
    loop.cancel(cancelled);
    loop.cancel(cancelled);  // unknown by now
  });
  loop.run();
  EXPECT_EQ(seen, "12");
}

TEST(EventLoop, AnAbsurdDelayNeitherOverflowsNorFires) {
  EventLoop loop;
  bool fired = false;
  loop.after(EventLoop::Duration::max(), [&] { fired = true; });
  loop.after(EventLoop::Duration::min(), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(fired);
}

TEST(EventLoop, ATimerThatATimerSetsWaitsForTheNextTurn) {
  EventLoop loop;
  std::string seen;
  loop.at_turn_end([&] { seen += "|"; });
  loop.after(0ms, [&] {
    seen += "1";
    loop.after(0ms, [&] {
      seen += "3";
      loop.stop();
    });
  });
  loop.after(0ms, [&] { seen += "2"; });
  loop.run();
  EXPECT_EQ(seen, "12|3|");
}

TEST(EventLoop, AWatcherHearsOfItsDescriptorUntilItIsRemoved) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int heard = 0;
  loop.watch(ends[0], EPOLLIN, [&](std::uint32_t events) {
    EXPECT_TRUE(events & EPOLLIN);
    ++heard;
    loop.unwatch(ends[0]);  // the byte stays unread: a watcher that went on would be called again
    loop.after(0ms, [&] { loop.after(0ms, [&] { loop.stop(); }); });
  });
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  loop.run();
  EXPECT_EQ(heard, 1);
  close(ends[0]);
  close(ends[1]);
}

// Both pipes are readable in one turn. Whichever comes first gives the other's number to a pipe that is not.
TEST(EventLoop, TheSuccessorOfAClosedDescriptorDoesNotHearItsLateEvent) {
  EventLoop loop;
  int one[2], other[2], empty[2];
  ASSERT_EQ(pipe(one), 0);
  ASSERT_EQ(pipe(other), 0);
  ASSERT_EQ(pipe(empty), 0);
  int heard = 0, late = 0;
  const auto replace = [&](int mine, int theirs) {
    ++heard;
    loop.unwatch(mine);
    loop.unwatch(theirs);
    EXPECT_EQ(dup2(empty[0], theirs), theirs);
    loop.watch(theirs, EPOLLIN, [&](std::uint32_t) { ++late; });
    loop.after(0ms, [&] { loop.after(0ms, [&] { loop.stop(); }); });
  };
  loop.watch(one[0], EPOLLIN, [&](std::uint32_t) { replace(one[0], other[0]); });
  loop.watch(other[0], EPOLLIN, [&](std::uint32_t) { replace(other[0], one[0]); });
  ASSERT_EQ(write(one[1], "x", 1), 1);
  ASSERT_EQ(write(other[1], "x", 1), 1);
  loop.run();
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(late, 0);
  for (const int fd : {one[0], one[1], other[0], other[1], empty[0], empty[1]}) close(fd);
}

TEST(EventLoop, EveryTurnEndsWithItsHook) {
  EventLoop loop;
  std::string seen;
  loop.at_turn_end([&] { seen += "|"; });
  loop.post([&] {
    seen += "a";
    loop.post([&] {
      seen += "b";
      loop.stop();
    });
  });
  loop.run();
  EXPECT_EQ(seen, "a|b|");
}

}  // namespace
}  // namespace waybill
