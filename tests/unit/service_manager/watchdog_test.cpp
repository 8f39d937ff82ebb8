// A thread that gets on and one that does not, as the service manager hears of them.
#include "service_manager/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "fake_manager.h"

namespace waybill {
namespace {

using std::chrono::milliseconds;

TEST(Pulse, TellsHowLongATurnTakesAndNothingOfARest) {
  Pulse pulse("claimer");
  EXPECT_EQ(pulse.turn_time(Pulse::Time::max()), std::nullopt);
  pulse.beat();
  EXPECT_EQ(pulse.thread(), gettid());
  EXPECT_GE(*pulse.turn_time(std::chrono::steady_clock::now() + milliseconds(70)), milliseconds(70));
  pulse.rest();
  EXPECT_EQ(pulse.turn_time(Pulse::Time::max()), std::nullopt);
}

TEST(FindStuck, NamesTheThreadThatHasBeenAtItForTheLongest) {
  Pulse first("claimer"), second("settler"), idle("intake-0");
  first.beat();
  while (*first.turn_time(std::chrono::steady_clock::now()) < milliseconds(2)) std::this_thread::yield();
  second.beat();
  const auto stuck = find_stuck({&second, &first, &idle}, milliseconds(-1));
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->name, "claimer");
  EXPECT_FALSE(find_stuck({&second, &first, &idle}, std::chrono::hours(1)));
}

// O2: who was stopped begins anew.
TEST(FindStuck, CountsNoTimeInWhichTheProcessWasStopped) {
  Pulse pulse("claimer");
  pulse.beat();
  EXPECT_TRUE(find_stuck({&pulse}, milliseconds(-1)));
  EXPECT_FALSE(find_stuck({&pulse}, milliseconds(-1), std::chrono::steady_clock::now() + std::chrono::hours(1)));
}

// O2: the watchdog is fed while all threads get on, with the status that people see.
TEST(Watchdog, IsFedWhileAllThreadsGetOn) {
  FakeManager fake;
  fake.set_period(milliseconds(400));
  const auto manager = ServiceManager::of_environment();
  Pulse pulse("claimer");
  const Watchdog watchdog(manager, {&pulse},
                          {.limit = std::chrono::hours(1), .status = [] { return "ready"; }, .tell = [](const StuckThread&) {}});
  EXPECT_TRUE(fake.hears("WATCHDOG=1"));
  EXPECT_TRUE(fake.hears("STATUS=ready"));
  EXPECT_TRUE(fake.hears("WATCHDOG=1"));
}

// O2: one that is stuck restarts the host, with its stack.
TEST(Watchdog, HasTheManagerActAtOnceWhenAThreadIsStuck) {
  FakeManager fake;
  fake.set_period(milliseconds(400));
  const auto manager = ServiceManager::of_environment();
  Pulse pulse("settler");
  std::atomic<bool> may_end{false};
  std::thread stuck([&] {
    pulse.beat();
    may_end.wait(false);
  });
  std::mutex mutex;
  StuckThread told;
  {
    const Watchdog watchdog(manager, {&pulse},
                            {.limit = milliseconds(20),
                             .status = [] { return "ready"; },
                             .tell =
                                 [&](const StuckThread& thread) {
                                   const std::lock_guard lock(mutex);
                                   told = thread;
                                 }});
    EXPECT_TRUE(fake.hears("WATCHDOG=trigger"));
  }
  may_end = true;
  may_end.notify_all();
  stuck.join();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(told.name, "settler");
  EXPECT_NE(told.stack.find("unit_service_manager"), std::string::npos) << told.stack;
}

// Without a service manager nobody ends the process, so it is only told, again and again.
TEST(Watchdog, OnlyTellsWithoutAManager) {
  const auto manager = ServiceManager::of_environment();
  EXPECT_FALSE(manager.is_there());
  Pulse pulse("settler");
  pulse.beat();
  std::atomic<int> times{0};
  const Watchdog watchdog(manager, {&pulse},
                          {.limit = milliseconds(20),
                           .status = [] { return ""; },
                           .tell =
                               [&](const StuckThread&) {
                                 ++times;
                                 times.notify_all();
                               }});
  for (int seen = 0; seen < 2; seen = times) times.wait(seen);
}

}  // namespace
}  // namespace waybill
