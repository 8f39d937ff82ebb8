// The life of a delivery: the table's own rules, and its words.  M6
#include "domain/status.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "domain/outcome.h"
#include "unit/domain/state_machine.h"

namespace waybill {
namespace {

TEST(Transitions, EndsHaveNoWayOut) {  // M6
  for (const Status status : {Status::accepted, Status::rejected, Status::exhausted, Status::deferred, Status::cancelled}) {
    EXPECT_TRUE(is_end(status)) << to_string(status);
    for (const Event event : kEvents) EXPECT_FALSE(next(status, event)) << to_string(status) << " " << to_string(event);
    for (const Status to : kStatuses) EXPECT_FALSE(allowed(status, to)) << to_string(status) << " " << to_string(to);
  }
  for (const Status status : {Status::waiting, Status::open, Status::due, Status::claimed})
    EXPECT_FALSE(is_end(status)) << to_string(status);
}

TEST(Transitions, AnEventLeadsToOnePlaceOnly) {
  std::set<std::pair<Status, Event>> seen;
  for (const auto& t : kTransitions)
    EXPECT_TRUE(seen.emplace(t.from, t.on).second) << to_string(t.from) << " " << to_string(t.on);
}

TEST(Transitions, NextAndAllowedSayWhatTheTableSays) {
  for (const Status from : kStatuses)
    for (const Event on : kEvents) {
      const auto row =
          std::find_if(kTransitions.begin(), kTransitions.end(), [&](const auto& t) { return t.from == from && t.on == on; });
      EXPECT_EQ(next(from, on).has_value(), row != kTransitions.end());
      if (row == kTransitions.end()) continue;
      EXPECT_EQ(*next(from, on), row->to);
      EXPECT_TRUE(allowed(from, row->to));
    }
}

TEST(Transitions, EveryEndCanBeReachedFromEveryBeginning) {  // M6
  for (const Status first : {Status::waiting, Status::open, Status::due}) {
    std::set<Status> reached{first};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const auto& t : kTransitions)
        if (reached.contains(t.from)) reached.insert(t.to);
    }
    for (const Status status : kStatuses)
      EXPECT_TRUE(!is_end(status) || reached.contains(status)) << to_string(first) << " never becomes " << to_string(status);
  }
}

TEST(Transitions, OnlyAClaimedDeliveryEndsByAnAttempt) {  // M18
  for (const auto& t : kTransitions) {
    if (t.to == Status::claimed) {
      EXPECT_TRUE(t.from == Status::due || t.from == Status::open);
    } else if (is_end(t.to) && t.to != Status::cancelled) {
      EXPECT_EQ(t.from, Status::claimed) << to_string(t.to);
    }
  }
}

TEST(Words, EveryStatusComesBackFromItsWord) {
  std::set<std::string_view> words;
  for (const Status status : kStatuses) {
    EXPECT_EQ(status_from(to_string(status)), status);
    words.insert(to_string(status));
  }
  EXPECT_EQ(words.size(), std::size(kStatuses));
  EXPECT_FALSE(status_from("pending"));
  EXPECT_FALSE(status_from(""));
  EXPECT_FALSE(status_from("Due"));
}

TEST(Words, EveryEventVerdictAndReachHasAWordOfItsOwn) {
  std::set<std::string_view> events, verdicts, reaches;
  for (const Event event : kEvents) events.insert(to_string(event));
  EXPECT_EQ(events.size(), std::size(kEvents));
  for (const Verdict verdict : {Verdict::accepted, Verdict::rejected, Verdict::transient, Verdict::deferred})
    verdicts.insert(to_string(verdict));
  EXPECT_EQ(verdicts, (std::set<std::string_view>{"accepted", "rejected", "transient", "deferred"}));
  for (const Reach reach : {Reach::not_sent, Reach::maybe_sent, Reach::answered}) reaches.insert(to_string(reach));
  EXPECT_EQ(reaches, (std::set<std::string_view>{"not_sent", "maybe_sent", "answered"}));
}

}  // namespace
}  // namespace waybill
