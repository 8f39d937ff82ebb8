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
