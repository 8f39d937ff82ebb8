// One refusal among many answers is no outage; everything else is.  T34
#include "settle/lone_refusals.h"

#include <gtest/gtest.h>

#include <vector>

#include "unit/settle/jobs.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::finished_with;

Outcome refusing() {
  auto outcome = testing::failed();
  outcome.code = 429;
  outcome.scope = Scope::whole_target;
  return outcome;
}

class Refusals : public ::testing::Test {
 protected:
  std::size_t lone(std::vector<Finished> batch) { return refusals.of(batch).size(); }
  std::vector<Finished> many(std::size_t count, const Outcome& outcome) {
    return std::vector<Finished>(count, finished_with(outcome));
  }
  Finished later(Finished finished, Micros by) {
    finished.finished_at = finished.finished_at + by;
    return finished;
  }

  LoneRefusals refusals;
};

TEST_F(Refusals, OneForEachHundredAnswersIsNoOutage) {  // T34
  EXPECT_EQ(lone(many(99, accepted())), 0u);
  EXPECT_EQ(lone(many(1, refusing())), 0u) << "too few answers";
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(lone(many(100, accepted())), 0u);
    EXPECT_EQ(lone(many(1, refusing())), 1u);
  }
}

TEST_F(Refusals, TheOrderWithinABatchCounts) {  // T34
  auto batch = many(300, accepted());
  batch.insert(batch.begin() + 150, finished_with(refusing()));
  batch.push_back(finished_with(refusing()));
  const auto found = refusals.of(batch);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_TRUE(found.contains(&batch[150]));
}

TEST_F(Refusals, TwoInARowBeginAnOutage) {  // T34
  lone(many(500, accepted()));
  EXPECT_EQ(lone(many(10, refusing())), 1u) << "the first of them was passed over before it was known";
  EXPECT_EQ(lone(many(99, accepted())), 0u);
  EXPECT_EQ(lone(many(1, refusing())), 0u) << "the outage took away what was counted";
}

TEST_F(Refusals, OneThatSaysWhenToComeBackIsObeyed) {  // T34
  lone(many(500, accepted()));
  auto asks = refusing();
  asks.retry_after = Seconds(30);
  EXPECT_EQ(lone(many(1, asks)), 0u);
}

TEST_F(Refusals, AnOldAnswerSaysNothing) {  // T34
  lone(many(500, accepted()));
  EXPECT_EQ(lone({later(finished_with(refusing()), Seconds(3))}), 0u);
}

TEST_F(Refusals, AProbeThatFailsIsNotPassedOver) {  // T34
  lone(many(500, accepted()));
  auto probe = finished_with(refusing());
  probe.job.outage_since = testing::kCreated;
  EXPECT_EQ(lone({probe}), 0u);
}

TEST_F(Refusals, WhatWasNeverSentIsNoAnswer) {  // T34
  lone(many(500, testing::failed(Reach::not_sent)));
  EXPECT_EQ(lone(many(1, refusing())), 0u);
}

TEST_F(Refusals, TheAnswersOfOneTargetAreNothingToAnother) {  // T34
  lone(many(500, accepted()));
  auto other = finished_with(refusing());
  auto contract = *other.job.contract;
  contract.target = "sms.other";
  other.job.contract = std::make_shared<const Contract>(contract);
  EXPECT_EQ(lone({other}), 0u);
  auto of_another_org = finished_with(refusing());
  of_another_org.job.org = {9};
  EXPECT_EQ(lone({of_another_org}), 0u);
}

}  // namespace
}  // namespace waybill
