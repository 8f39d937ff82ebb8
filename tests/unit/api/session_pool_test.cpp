// Questions to a pool of sessions that are slower than who asks.
#include "api/session_pool.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "support/eventually.h"

namespace waybill {
namespace {

// E11
TEST(SessionPools, AQuestionThatNobodyWaitsForAnyMoreIsDropped) {
  std::promise<void> go_on;
  std::atomic<int> asked{0};
  const auto dropped = std::make_shared<int>(0);
  {
    SessionPool<int> pool({1}, Millis(50));
    pool.start();
    pool.ask([&](int&) { go_on.get_future().wait(); });
    pool.ask([&asked, dropped](int&) { ++asked; });
    ASSERT_TRUE(testing::eventually(
        [begin = std::chrono::steady_clock::now()] { return std::chrono::steady_clock::now() - begin > Millis(100); }));
    go_on.set_value();
    ASSERT_TRUE(testing::eventually([&] { return dropped.use_count() == 1; }));
    EXPECT_EQ(asked, 0);
    std::promise<void> answered;
    pool.ask([&](int&) { answered.set_value(); });
    answered.get_future().wait();
  }
}

}  // namespace
}  // namespace waybill
