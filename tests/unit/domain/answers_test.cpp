// Which targets give a host no answer, beside others that do.  T13
#include "domain/answers.h"

#include <gtest/gtest.h>

#include "unit/settle/silence.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::ended_at;
using testing::failed;
using testing::rejected;
using testing::unreachable;

class Answering : public ::testing::Test {
 protected:
  static Clock::Monotonic at(std::chrono::seconds time) { return Clock::Monotonic(time); }
  void ends(Outcome outcome, std::chrono::seconds time, const std::string& target = "a") {
    answers.note(std::vector<Finished>{ended_at(std::move(outcome), at(time), target)});
  }

  Answers answers;
};

TEST_F(Answering, ATargetIsUnreachedFromItsFirstSilenceToItsNextAnswer) {
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "a"));
  ends(unreachable(), Seconds(5));
  ends(unreachable(), Seconds(9));
  ends(unreachable(), Seconds(4));  // the order in which they are settled is another
  ASSERT_TRUE(answers.unreached(kDefaultOrg, "a"));
  EXPECT_EQ(answers.unreached(kDefaultOrg, "a")->since, at(Seconds(4)));
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "b"));
  EXPECT_FALSE(answers.unreached({2}, "a")) << "another organisation's";
  ends(accepted(), Seconds(3));
  EXPECT_TRUE(answers.unreached(kDefaultOrg, "a")) << "that was before";
  ends(rejected("invalid_request"), Seconds(10));
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "a")) << "an answer, whatever it says";
}

TEST_F(Answering, ItIsKnownWhetherOthersAnsweredSince) {
  ends(accepted(), Seconds(1), "b");
  ends(unreachable(), Seconds(2));
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "a")->others_answered);
  ends(unreachable(), Seconds(3), "b");
  ends(failed(Reach::maybe_sent), Seconds(4), "c");
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "a")->others_answered) << "nothing came back";
  ends(failed(), Seconds(5), "c");
  EXPECT_TRUE(answers.unreached(kDefaultOrg, "a")->others_answered);
  ends(unreachable(), Seconds(6), "d");
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "d")->others_answered);
}

TEST_F(Answering, WhatWasNotAttemptedSaysNothing) {
  auto finished = ended_at(unreachable(), at(Seconds(1)));
  finished.how = Finished::How::interrupted;
  finished.outcome.reset();
  answers.note(std::vector<Finished>{finished});
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "a"));
}

TEST_F(Answering, AmongManySilentTargetsThoseOfADayAgoAreForgotten) {
  ends(unreachable(), Seconds(1), "old");
  const auto later = std::chrono::hours(25);
  for (int i = 0; i < 1000; ++i) ends(unreachable(), later, "t" + std::to_string(i));
  EXPECT_FALSE(answers.unreached(kDefaultOrg, "old"));
  EXPECT_TRUE(answers.unreached(kDefaultOrg, "t0"));
}

}  // namespace
}  // namespace waybill
