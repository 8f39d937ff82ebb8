// The clock of a host: the database's time, counted on by the monotonic clock.  T24
#include "base/database_clock.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

TEST(DatabaseClock, TellsTheMachinesTimeUntilTheDatabaseHasToldIts) {
  const DatabaseClock clock;
  const auto before = SystemClock().unix_seconds();
  EXPECT_GE(clock.unix_seconds(), before);
  EXPECT_LE(clock.unix_seconds(), SystemClock().unix_seconds());
  EXPECT_LE(clock.skew(), std::chrono::seconds(1));
}

TEST(DatabaseClock, CountsOnFromWhatTheDatabaseSaidLast) {
  DatabaseClock clock;
  constexpr std::int64_t kThen = 1'700'000'000;
  clock.follow({kThen * 1'000'000}, clock.now() - std::chrono::seconds(100));
  EXPECT_GE(clock.unix_seconds(), kThen + 100);
  clock.follow({kThen * 1'000'000}, clock.now() + std::chrono::hours(1));  // it was set back
  EXPECT_LT(clock.unix_seconds(), kThen);
  EXPECT_GT(clock.skew(), std::chrono::hours(24 * 365)) << "the machine's clock is ahead";
}

TEST(DatabaseClock, FiveSecondsEitherWayAreNoSkew) {  // T24
  using std::chrono::seconds;
  for (const int right : {-5, -1, 0, 4, 5}) EXPECT_FALSE(is_too_far(seconds(right))) << right;
  for (const int wrong : {-3600, -6, 6, 600}) EXPECT_TRUE(is_too_far(seconds(wrong))) << wrong;
}

}  // namespace
}  // namespace waybill
