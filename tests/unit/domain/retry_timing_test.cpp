// The waits between attempts.  M9
#include "domain/retry_timing.h"

#include <gtest/gtest.h>

#include <limits>

namespace waybill {
namespace {

TEST(RetryTiming, TheDefaultIsFiveSecondsEachTime) {  // M9
  for (const std::uint32_t attempts : {1u, 2u, 3u, 100u, std::numeric_limits<std::uint32_t>::max()})
    EXPECT_EQ(wait_after({}, attempts, {}, 0.999), Seconds(5));
}

TEST(RetryTiming, ExponentialGrowsFromTheFirstWaitByItsFactor) {  // M9
  const RetryTiming timing{.kind = RetryTiming::Kind::exponential, .delay = Seconds(30), .factor = 2.0};
  EXPECT_EQ(wait_after(timing, 1, {}, 0), Seconds(30));
  EXPECT_EQ(wait_after(timing, 2, {}, 0), Seconds(60));
  EXPECT_EQ(wait_after(timing, 3, {}, 0), Seconds(120));
  EXPECT_EQ(wait_after(timing, 4, {}, 0), Seconds(240));
}

TEST(RetryTiming, NoWaitIsLongerThanItsCapHoweverManyAttempts) {  // M9
  const RetryTiming timing{
      .kind = RetryTiming::Kind::exponential, .delay = Seconds(1), .factor = 100.0, .max_delay = Seconds(90)};
  for (const std::uint32_t attempts : {2u, 3u, 155u, 1000u, 100'000u, std::numeric_limits<std::uint32_t>::max()})
    EXPECT_EQ(wait_after(timing, attempts, {}, 0), Seconds(90)) << attempts;
}

TEST(RetryTiming, ADelayOfNothingStaysNothingWhenItsPowerIsInfinite) {  // M9
  const RetryTiming timing{.kind = RetryTiming::Kind::exponential, .delay = Millis(0), .factor = 100.0};
  EXPECT_EQ(wait_after(timing, std::numeric_limits<std::uint32_t>::max(), {}, 0.5), Millis(0));
}

TEST(RetryTiming, JitterMultipliesBetweenItsTwoFactors) {  // M9
  const RetryTiming timing{.delay = Seconds(10), .jitter_low = 0.5, .jitter_high = 1.5};
  EXPECT_EQ(wait_after(timing, 1, {}, 0.0), Seconds(5));
  EXPECT_EQ(wait_after(timing, 1, {}, 0.5), Seconds(10));
  EXPECT_EQ(wait_after(timing, 1, {}, 0.75), Millis(12'500));
}

TEST(RetryTiming, TheCapHoldsAfterTheJitterToo) {  // M9
  const RetryTiming timing{.delay = Seconds(10), .max_delay = Seconds(11), .jitter_low = 0.5, .jitter_high = 1.5};
  EXPECT_EQ(wait_after(timing, 1, {}, 0.99), Seconds(11));
}

TEST(RetryTiming, ARetryAfterLiftsTheWaitBeyondTheCapButNotBeyondADay) {  // M9
  const RetryTiming timing{.delay = Seconds(5), .max_delay = Seconds(10)};
  EXPECT_EQ(wait_after(timing, 1, Millis(600'000), 0), Seconds(600));
  EXPECT_EQ(wait_after(timing, 1, std::chrono::hours(24), 0), std::chrono::hours(24));
  EXPECT_EQ(wait_after(timing, 1, Millis::max(), 0), std::chrono::hours(24));
}

TEST(RetryTiming, ARetryAfterNeverShortensTheWait) {  // M9
  EXPECT_EQ(wait_after({}, 1, Millis(0), 0), Seconds(5));
  EXPECT_EQ(wait_after({}, 1, Millis(4'999), 0), Seconds(5));
}

TEST(RetryTiming, MailsFiveAttemptsSpanMoreThanAnHour) {  // E14
  const auto timings = default_timings();
  for (const auto* type : {"email_raw", "email_template"}) {
    Millis least{0}, most{0};
    for (std::uint32_t attempts = 1; attempts < 5; ++attempts) {
      least += wait_after(timing_for(timings, type), attempts, {}, 0.0);
      most += wait_after(timing_for(timings, type), attempts, {}, 1.0);
    }
    EXPECT_GT(least, std::chrono::minutes(60)) << type;
    EXPECT_LT(most, std::chrono::minutes(90)) << type;
  }
  EXPECT_EQ(wait_after(timing_for(timings, "sms"), 4, {}, 0.5), Seconds(5));
}

}  // namespace
}  // namespace waybill
