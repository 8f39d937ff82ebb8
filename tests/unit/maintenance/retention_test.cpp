// What retention asks of the store, and when.
#include <gtest/gtest.h>

#include <deque>

#include "domain/job.h"
#include "maintenance/periodic_tasks.h"
#include "unit/maintenance/no_maintenance.h"

namespace waybill {
namespace {

// Old submissions that a walk finds, and old events that can go.
class OldRows final : public testing::NoMaintenance {
 public:
  std::deque<std::size_t> pages;  // how many each page of the walk has; behind them all is young
  std::uint64_t events = 0;
  int looks_at_events = 0;

  Result<RetentionStep> delete_old(Shard, SubmissionId after, std::span<const KeptKind>, std::size_t) override {
    if (pages.empty()) return RetentionStep{.last = after, .is_over = true};
    const auto deleted = pages.front();
    pages.pop_front();
    return RetentionStep{.deleted = deleted, .last = {after.value + 1}};
  }
  Result<std::uint64_t> delete_old_events(Millis, std::size_t most) override {
    ++looks_at_events;
    const auto gone = std::min<std::uint64_t>(events, most);
    events -= gone;
    return gone;
  }

  Result<std::optional<ListedPlace>> forget_listed(ListedPlace after, Millis, std::size_t) override {
    listed.push_back(after.above);
    if (after.above == 30) return std::nullopt;
    return ListedPlace{1, after.above + 10};
  }
  std::vector<std::int64_t> listed;  // behind which it was asked for
};

class Retention : public ::testing::Test {
 protected:
  PeriodicTask task(Millis notifications = std::chrono::hours(24)) {
    return retention(store, 1, {{kIntentKind, std::chrono::hours(24)}, {kNotificationKind, notifications}}, log);
  }

  OldRows store;
  Log log{Log::Level::error, Log::Format::json};
};

// T35: the notes of which intents are whose are walked in pages, again and again
TEST_F(Retention, WhatIsListedIsWalkedFromItsBeginningAgain) {
  const auto task = this->task();
  for (int run = 0; run < 6; ++run) ASSERT_TRUE(task.run());
  EXPECT_EQ(store.listed, (std::vector<std::int64_t>{0, 10, 20, 30, 0, 10}));
}

// N12: a look at events passes over all those of notifications that are still to be deleted.
TEST_F(Retention, EventsAreLookedAtOnlyWhenAllOldNotificationsAreGone) {
  store.pages = {500, 500, 500};
  store.events = 1'200;
  const auto task = this->task();
  for (int page = 0; page < 3; ++page) ASSERT_TRUE(task.run());
  EXPECT_EQ(store.looks_at_events, 0);
  for (int look = 1; look <= 3; ++look) {
    ASSERT_TRUE(task.run());
    EXPECT_EQ(store.looks_at_events, look);
  }
  EXPECT_EQ(store.events, 0u);
  ASSERT_TRUE(task.run());
  EXPECT_EQ(store.looks_at_events, 3) << "the next walk is an hour away, and there is nothing more before";
}

TEST_F(Retention, EventsStayWhereNotificationsAreKeptForEver) {
  store.events = 10;
  const auto task = this->task(Millis{0});
  ASSERT_TRUE(task.run());
  EXPECT_EQ(store.looks_at_events, 0);
}

}  // namespace
}  // namespace waybill
