// How often a task is run, by what it costs.
#include "maintenance/task_runner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/call_builders.h"
#include "support/eventually.h"

namespace waybill {
namespace {

using testing::eventually;

// Both take ten seconds and are to be done each second.
class TaskRunning : public ::testing::Test {
 protected:
  PeriodicTask task(const std::string& name, std::atomic<int>& runs, bool is_bounded) {
    return {.name = name,
            .every = Seconds{1},
            .run = [this, &runs]() -> Result<void> {
              clock.pass(Seconds(10));
              ++runs;
              return {};
            },
            .is_bounded = is_bounded};
  }
  PeriodicTask always() {
    return {.name = "always",
            .every = Millis{0},
            .run = [this]() -> Result<void> {
              ++passes;
              return {};
            },
            .is_bounded = true};
  }
  // Until it has been run so often, and a later task as well: its next time is settled then.
  bool bounded_has_run(int times) {
    if (!eventually([&] { return bounded == times; })) return false;
    const int before = passes;
    return eventually([&] { return passes > before; });
  }

  testing::ManualClock clock;
  testing::KeptLog log;
  std::atomic<int> costly{0}, bounded{0}, passes{0};
};

// N5
TEST_F(TaskRunning, WhatTakesLongIsDoneLessOftenUnlessItsRunsAreBounded) {
  TaskRunner runner(
      {task("costly", costly, false), task("bounded", bounded, true), always()}, clock, Millis{1}, [] { return true; }, log);
  runner.start();
  ASSERT_TRUE(bounded_has_run(1));
  for (int times = 2; times < 20; ++times) {
    clock.pass(Seconds{1});
    ASSERT_TRUE(bounded_has_run(times)) << "each second, however long it took";
  }
  EXPECT_EQ(costly, 1) << "it may take two parts in a hundred of the time";
  clock.pass(Seconds{500});
  ASSERT_TRUE(bounded_has_run(20));
  EXPECT_EQ(costly, 2);
}

}  // namespace
}  // namespace waybill
