// Deliveries whose channel is disabled wait for it, and nothing of that counts.
#include "settle/disabled_channel.h"

#include <gtest/gtest.h>

#include "unit/settle/jobs.h"

namespace waybill {
namespace {

Finished refused(const std::string& reason, Policy policy = Policy::max_attempts) {
  Contract contract = testing::contract_of(policy);
  contract.channel = "00000000-0000-4000-8000-000000000001";
  auto outcome = testing::rejected(reason);
  outcome.reach = Reach::not_sent;
  auto finished = testing::finished_with(outcome, policy);
  finished.job.contract = std::make_shared<const Contract>(contract);
  return finished;
}

Finished kept_at(Millis age, Millis kept = {}) {
  auto finished = refused(kChannelDisabled);
  finished.finished_at = finished.job.created + age;
  std::vector<Finished> batch{finished};
  keep_for_channels(batch, kept);
  return batch.front();
}

// T2
TEST(DisabledChannel, ADeliveryWaitsAsLongAsItHasWaitedWithinBounds) {
  for (const auto& [age, wait] : {std::pair<Millis, Millis>{Millis(1500), std::chrono::minutes(1)},
                                  {std::chrono::minutes(7), std::chrono::minutes(7)},
                                  {std::chrono::hours(500), std::chrono::hours(1)}}) {
    const auto finished = kept_at(age);
    EXPECT_EQ(finished.how, Finished::How::unattempted);
    EXPECT_FALSE(finished.outcome);
    EXPECT_EQ(finished.not_before, wait) << age.count();
  }
}

// T2
TEST(DisabledChannel, AtItsAgeItEnds) {
  const Millis kept = std::chrono::hours(24);
  EXPECT_EQ(kept_at(kept - Millis(1), kept).how, Finished::How::unattempted);
  EXPECT_EQ(kept_at(kept, kept).how, Finished::How::attempted);
}

// T2
TEST(DisabledChannel, NothingElseIsKept) {
  auto sent = refused(kChannelDisabled);
  sent.outcome->reach = Reach::answered;
  auto of_registry = testing::finished_with(refused(kChannelDisabled).outcome);
  std::vector<Finished> batch{refused(kChannelDeleted), refused(kChannelDisabled, Policy::one_shot), sent, of_registry,
                              testing::finished_with(std::nullopt)};
  auto former = batch;
  keep_for_channels(batch, {});
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].how, former[i].how) << i;
    EXPECT_EQ(batch[i].outcome, former[i].outcome) << i;
  }
}

}  // namespace
}  // namespace waybill
