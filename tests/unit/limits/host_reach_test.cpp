// When a host knows itself cut off, and what its answers refute.  T13
#include "limits/host_reach.h"

#include <gtest/gtest.h>

#include "unit/settle/jobs.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::failed;
using testing::finished_with;

constexpr Timestamp kBegin{1'700'000'000'000'000};

HostFinding finding(const std::string& target, Micros after, bool is_refuted = false) {
  return {kDefaultOrg, target, kBegin + after, is_refuted};
}

std::vector<Finished> ended(Outcome outcome, Micros after) {
  auto finished = finished_with(std::move(outcome));
  finished.finished_at = kBegin + after;
  return {finished};
}

TEST(Reaching, WhatOthersReachAndThisHostDoesNotCutsItOff) {  // T13
  HostReach reach;
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
  reach.recovered(kBegin + Seconds(30));
  EXPECT_FALSE(reach.is_cut_off());
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(2), true)}});
  EXPECT_FALSE(reach.is_cut_off()) << "it has reached something since";
}

TEST(Reaching, AHostThatReachesSomethingIsNotCutOff) {  // T13
  HostReach reach;
  reach.ended(ended(failed(), Seconds(5)));  // an answer, whatever it says
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(4), true)}});
  EXPECT_FALSE(reach.is_cut_off());
  reach.ended(ended(failed(Reach::not_sent), Seconds(9)));
  reach.observe({.now = kBegin, .all = {}, .own = {finding("a", Seconds(6), true)}});
  EXPECT_TRUE(reach.is_cut_off()) << "the last answer was before";
}

TEST(Reaching, AnAnswerRefutesWhatOthersFoundBeforeIt) {  // T13
  HostReach reach;
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
