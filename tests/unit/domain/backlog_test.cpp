// When a queue is empty.  O5
#include "domain/backlog.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

constexpr Timestamp kNow{1'000'000'000'000'000};
Timestamp in(Micros time) { return {kNow.micros + time.count()}; }

Backlog of(std::int64_t due, double arrivals, double ends) {
  Backlog backlog;
  backlog.due = due;
  backlog.arrivals = arrivals;
  backlog.ends = ends;
  return backlog;
}
std::string why_not(const Backlog& backlog) {
  const auto empty = empty_queue(backlog, true, kNow);
  return empty.at ? "it empties" : empty.why_not;
}

// O5
TEST(EmptyQueues, AtWhatEndsBeyondWhatArrives) {
  EXPECT_EQ(empty_queue(of(600, 0, 60), true, kNow).at, in(std::chrono::minutes(10)));
  EXPECT_EQ(empty_queue(of(600, 30, 60), true, kNow).at, in(std::chrono::minutes(20)));
  EXPECT_EQ(empty_queue(of(0, 0, 0), true, kNow).at, kNow);
}

// O5
TEST(EmptyQueues, NotFasterThanTheRateAllows) {
  auto capped = of(600, 0, 600);
  capped.rate = Rate{1, Seconds(1)};
  EXPECT_EQ(empty_queue(capped, true, kNow).at, in(std::chrono::minutes(10)));
  capped.arrivals = 60;
  EXPECT_EQ(why_not(capped), "it grows");
}

// O5
TEST(EmptyQueues, NotBeforeWhatIsScheduledMayStart) {
  auto later = of(1, 0, 60);
  later.scheduled = 1;
  later.last_scheduled = in(std::chrono::hours(1));
  EXPECT_EQ(empty_queue(later, true, kNow).at, in(std::chrono::hours(1)));
}

// O5
TEST(EmptyQueues, WhatTellsThatThereIsNoSuchTime) {
  EXPECT_EQ(why_not(of(10, 5, 5)), "it grows");
  EXPECT_EQ(why_not(of(10, 0, 0)), "nothing ended in the last minutes");
  EXPECT_EQ(why_not(of(1'000'000'000, 0, 1)), "not within a year");
  auto paused = of(10, 0, 60);
  paused.stopped = "paused";
  EXPECT_EQ(why_not(paused), "paused");
  EXPECT_EQ(empty_queue(of(10, 0, 60), false, kNow).why_not, "it is too long to be counted");
  auto under_way = of(0, 0, 0);
  under_way.claimed = 1;
  EXPECT_EQ(why_not(under_way), "nothing ended in the last minutes") << "it is not empty yet";
}

}  // namespace
}  // namespace waybill
