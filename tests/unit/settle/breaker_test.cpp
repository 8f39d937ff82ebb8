// When failures that one delivery may cause as well are an outage of their target.  T14
#include "settle/breaker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/settle/jobs.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::failed;
using testing::finished_with;

constexpr int kFloor = FailureBreaker::kFloor;

Outcome error_500() {
  auto outcome = failed();
  outcome.code = 500;
  return outcome;
}

// The delivery's attempt ended so long after the first one.
Finished ended(int delivery, Outcome outcome, Micros after = Micros(0)) {
  auto finished = finished_with(std::move(outcome));
  finished.job.delivery = {delivery};
  finished.finished_at = finished.finished_at + after;
  return finished;
}

class Breaking : public ::testing::Test {
 protected:
  // Of these attempts, how many blame the target.
  int blaming(std::vector<Finished> batch) {
    breaker.judge(batch);
    return static_cast<int>(std::count_if(
        batch.begin(), batch.end(), [](const auto& one) { return one.outcome && one.outcome->scope == Scope::whole_target; }));
  }
  static std::vector<Finished> many(int count, const Outcome& outcome, int first = 1, Micros after = Micros(0)) {
    std::vector<Finished> batch;
    for (int i = 0; i < count; ++i) batch.push_back(ended(first + i, outcome, after));
    return batch;
  }

  FailureBreaker breaker;
};

TEST_F(Breaking, FewerDeliveriesThanTheFloorOpenItNever) {  // T14
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(blaming(many(kFloor - 1, error_500())), 0) << "the same ones, again and again";
  EXPECT_EQ(blaming({ended(100, error_500())}), 1) << "one more is enough";
}

TEST_F(Breaking, ItOpensForAnAnswer500AndForNoAnswer) {
  EXPECT_EQ(blaming(many(kFloor, error_500())), kFloor);
  FailureBreaker another;
  std::swap(breaker, another);
  EXPECT_EQ(blaming(many(kFloor, failed(Reach::maybe_sent))), kFloor);
}

TEST_F(Breaking, WhatOneDeliveryCausesIsNoOutage) {
  EXPECT_EQ(blaming(many(30, accepted())), 0);
  for (int poison = 0; poison < 8; ++poison) {  // a third of all, each tried often
    auto batch = many(2, accepted(), 100 + 2 * poison);
    for (int again = 0; again < 5; ++again) batch.push_back(ended(1000 + poison, error_500()));
    EXPECT_EQ(blaming(std::move(batch)), 0) << poison;
  }
}

TEST_F(Breaking, OtherFailuresAreTheDeliverysOwn) {
  auto busy = failed();
  busy.code = 425;
  auto silent = failed(Reach::maybe_sent);
  silent.reason = "plugin_silent";  // its destination had no part in it
  for (const auto& outcome : {busy, silent, testing::rejected("invalid_request"), accepted()})
    EXPECT_EQ(blaming(many(2 * kFloor, outcome)), 0) << outcome.reason;
}

TEST_F(Breaking, WhatIsLongPastSaysNothing) {
  EXPECT_EQ(blaming(many(kFloor - 1, error_500())), 0);
  EXPECT_EQ(blaming(many(kFloor - 1, error_500(), 100, FailureBreaker::kWindow + Micros(1))), 0);
}

TEST_F(Breaking, ItClosesWhenDeliveriesGetThrough) {
  EXPECT_EQ(blaming(many(kFloor, error_500())), kFloor);
  EXPECT_EQ(blaming(many(kFloor + 1, accepted(), 100)), 0);
  EXPECT_EQ(blaming({ended(1000, error_500())}), 0);
}

TEST_F(Breaking, ARecoveredTargetBeginsAnew) {
  EXPECT_EQ(blaming(many(kFloor, error_500())), kFloor);
  breaker.forget(kDefaultOrg, "sms.primary");
  EXPECT_EQ(blaming({ended(100, error_500())}), 0);
}

TEST_F(Breaking, AProbeThatFailsSoTellsOfNoEnd) {
  auto probe = ended(1, error_500());
  probe.job.outage_since = probe.started_at;
  EXPECT_EQ(blaming({probe}), 1);
}

TEST_F(Breaking, AChannelHasRulesOfItsOwn) {
  auto batch = many(2 * kFloor, error_500());
  for (auto& one : batch) {
    Contract contract = *one.job.contract;
    contract.channel = "a-channel";
    one.job.contract = std::make_shared<const Contract>(contract);
  }
  EXPECT_EQ(blaming(std::move(batch)), 0);
}

}  // namespace
}  // namespace waybill
