// When a host knows itself cut off, and what its answers refute.  T13
#include "limits/host_reach.h"

#include <gtest/gtest.h>

#include "unit/settle/silence.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::ended_at;
using testing::failed;
using testing::finished_with;
using testing::unreachable;

constexpr Timestamp kBegin{1'700'000'000'000'000};

HostFinding finding(const std::string& target, Micros after, bool is_refuted = false) {
  return {kDefaultOrg, target, kBegin + after, is_refuted};
}

std::vector<Finished> ended(Outcome outcome, Micros after) {
  auto finished = finished_with(std::move(outcome));
  finished.finished_at = kBegin + after;
  return {finished};
}

class Reaching : public ::testing::Test {
 protected:
  void ends(Outcome outcome, Seconds at, const std::string& target) {
    answers.note(std::vector<Finished>{ended_at(std::move(outcome), Clock::Monotonic(at), target)});
  }

  Answers answers;
  HostReach reach{answers};
};

TEST_F(Reaching, WhatOthersReachAndThisHostDoesNotCutsItOff) {  // T13
  for (const char* target : {"a", "b", "c"}) ends(unreachable(), Seconds(1), target);
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(1))}});
  EXPECT_FALSE(reach.is_cut_off()) << "nobody knows better";
  reach.observe({.now = kBegin,
                 .all = {},
                 .own = {finding("a", Seconds(2), true), finding("b", Seconds(1)), finding("c", Seconds(1), true)}});
  ASSERT_TRUE(reach.cut_off());
  EXPECT_EQ(reach.cut_off()->since, kBegin + Seconds(1));
  EXPECT_EQ(reach.cut_off()->unreachable.size(), 2u);
  reach.observe({.now = kBegin, .all = {}});
  EXPECT_TRUE(reach.is_cut_off()) << "only a connection ends it";
  reach.recovered(Clock::Monotonic(Seconds(30)));
  EXPECT_FALSE(reach.is_cut_off());
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(2), true)}});
  EXPECT_FALSE(reach.is_cut_off()) << "it has reached something since";
}

TEST_F(Reaching, AHostThatReachesSomethingIsNotCutOff) {  // T13
  ends(unreachable(), Seconds(4), "a");
  ends(failed(), Seconds(5), "other");  // an answer, whatever it says
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(4), true)}});
  EXPECT_FALSE(reach.is_cut_off());
  EXPECT_FALSE(reach.cannot_connect(kDefaultOrg, "a"));
  ends(failed(Reach::not_sent), Seconds(9), "other");
  ends(unreachable(), Seconds(6), "b");
  EXPECT_TRUE(reach.cannot_connect(kDefaultOrg, "b"));
  reach.observe({.now = kBegin, .all = {}, .own = {finding("b", Seconds(6), true)}});
  EXPECT_TRUE(reach.is_cut_off()) << "the last answer was before";
}

// Its names do not resolve any more, or its ports are used up.
TEST_F(Reaching, ConnectionsThatThereWereTellNothingOfNewOnes) {  // T13
  ends(unreachable(), Seconds(4), "a");
  auto kept = ended_at(accepted(), Clock::Monotonic(Seconds(5)), "b");
  kept.by_kept_connection = true;
  answers.note(std::vector<Finished>{kept});
  EXPECT_TRUE(reach.cannot_connect(kDefaultOrg, "a"));
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(4), true)}});
  EXPECT_FALSE(reach.is_cut_off()) << "it goes on with what it has";
  ends(accepted(), Seconds(6), "b");
  EXPECT_FALSE(reach.cannot_connect(kDefaultOrg, "a"));
}

// It was accepted before the host lost its way, and answered when the host had.
TEST_F(Reaching, ALateAnswerTellsNothingOfNewConnections) {  // T13
  ends(unreachable(), Seconds(4), "a");
  auto late = ended_at(accepted(), Clock::Monotonic(Seconds(5)), "b");
  late.started_at = late.finished_at - Seconds(2);
  answers.note(std::vector<Finished>{late});
  EXPECT_TRUE(reach.cannot_connect(kDefaultOrg, "a"));
  ends(accepted(), Seconds(6), "b");
  EXPECT_FALSE(reach.cannot_connect(kDefaultOrg, "a"));
}

// Hours ago it had no answer from there, and others have served the channel since.
TEST_F(Reaching, AnOldSilenceIsNotThatOfToday) {  // T13
  ends(unreachable(), Seconds(4), "a");
  ends(accepted(), Seconds(6), "b");
  EXPECT_FALSE(reach.cannot_connect(kDefaultOrg, "a"));
  ends(unreachable(), std::chrono::hours(2), "a");
  EXPECT_TRUE(reach.cannot_connect(kDefaultOrg, "a")) << "it has connected to nothing since";
  ends(unreachable(), std::chrono::hours(2) + Seconds(30), "a");
  EXPECT_EQ(answers.unreached(kDefaultOrg, "a")->since, Clock::Monotonic(std::chrono::hours(2))) << "one silence";
}

TEST_F(Reaching, OneThatTriesAnywayIsCutOffAgainIfNothingAnswers) {  // T13
  const auto observe = [&] { reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(1), true)}}); };
  ends(unreachable(), Seconds(1), "a");
  observe();
  reach.tries_anyway(Clock::Monotonic(Seconds(5)));
  observe();
  EXPECT_FALSE(reach.is_cut_off()) << "it has tried nothing yet";
  ends(unreachable(), Seconds(6), "a");
  observe();
  EXPECT_TRUE(reach.is_cut_off());
  reach.recovered(Clock::Monotonic(Seconds(7)));
  ends(unreachable(), Seconds(8), "a");
  observe();
  EXPECT_FALSE(reach.is_cut_off()) << "a connection was made, so it is not this host";
}

// What the findings say of the time is the database's word.
TEST_F(Reaching, AStepOfTheDatabasesClockHidesNoCutOff) {  // T3 T13
  ends(accepted(), Seconds(4), "a");
  ends(unreachable(), Seconds(5), "a");
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", -std::chrono::hours(24), true)}});
  EXPECT_TRUE(reach.is_cut_off());
}

TEST_F(Reaching, AnAnswerRefutesWhatOthersFoundBeforeIt) {  // T13
  const auto doubts = [&] {
    reach.observe({.now = kBegin, .all = {}, .own = {}, .of_others = {finding("sms.primary", Seconds(5))}});
  };
  doubts();
  reach.ended(ended(accepted(), Seconds(5)));
  reach.ended(ended(failed(Reach::maybe_sent), Seconds(9)));
  EXPECT_TRUE(reach.take_refuted().empty()) << "no answer since";
  reach.ended(ended(accepted(), Seconds(6)));
  reach.ended(ended(accepted(), Seconds(7)));
  ASSERT_EQ(reach.take_refuted().size(), 1u) << "told once";
  EXPECT_TRUE(reach.take_refuted().empty());
}

}  // namespace
}  // namespace waybill
