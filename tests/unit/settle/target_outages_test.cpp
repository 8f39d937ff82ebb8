// What a batch says of its targets.  T13
#include "settle/target_outages.h"

#include <gtest/gtest.h>

#include "support/call_builders.h"
#include "unit/settle/jobs.h"
#include "unit/settle/scripted_store.h"
#include "unit/settle/silence.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::KeptLog;
using testing::ManualClock;
using testing::ScriptedStore;
using testing::unreachable;

class BlamingTargets : public ::testing::Test {
 protected:
  // Claimed when this host's clock said so, and the database's that; it took half a second.
  static Finished finished(Outcome outcome, Seconds mono, Timestamp database) {
    auto one = testing::finished_with(std::move(outcome));
    one.job.claimed_mono = Clock::Monotonic(mono);
    one.job.claimed_at = database;
    one.started_at = database;
    one.finished_at = database + Millis(500);
    return one;
  }
  static Finished of_other(Finished one) {
    auto contract = *one.job.contract;
    contract.target = "sms.other";
    one.job.contract = std::make_shared<const Contract>(std::move(contract));
    return one;
  }
  void write(std::vector<Finished> batch) {
    clock.pass(Seconds(2));  // the store begins no outage, so the target passes for locked: for a second
    outages.write(batch, [] { return true; });
  }

  ScriptedStore store;
  ManualClock clock;
  KeptLog log;
  Answers answers;
  TargetOutages outages{store, answers, clock, {.cooldown = Seconds(30), .outage = std::chrono::hours(24)}, log};
};

TEST_F(BlamingTargets, WhetherThisHostHadAnAnswerFromElsewhereSinceIsToldWithThem) {
  write({finished(accepted(), Seconds(1), Timestamp{1'000'000'000})});
  write({finished(unreachable(), Seconds(2), Timestamp{1'001'000'000})});
  ASSERT_EQ(store.blames.size(), 1u);
  EXPECT_FALSE(store.blames[0].others_connected) << "that was before";
  write({of_other(finished(accepted(), Seconds(3), Timestamp{1'002'000'000}))});
  write({finished(unreachable(), Seconds(5), Timestamp{1'004'000'000})});
  ASSERT_EQ(store.blames.size(), 2u);
  EXPECT_TRUE(store.blames[1].others_connected);
}

// The database's clock is another one for what was claimed before and after the step.
TEST_F(BlamingTargets, AStepOfTheDatabasesClockMakesNoAnswerOneSince) {  // T3
  write({of_other(finished(accepted(), Seconds(2), Timestamp{5'000'000'000})),
         finished(unreachable(), Seconds(3), Timestamp{5'001'000'000})});
  write({finished(unreachable(), Seconds(5), Timestamp{1'000'000'000})});  // and more than an hour less
  write({finished(unreachable(), Seconds(6), Timestamp{9'000'000'000})});  // and two hours more
  ASSERT_EQ(store.blames.size(), 3u);
  for (const auto& blame : store.blames) EXPECT_FALSE(blame.others_connected);
}

TEST_F(BlamingTargets, WhatOnlyThisHostFindsLastsAsLongAsByItsOwnClock) {  // T3
  store.outages = {{kDefaultOrg, "sms.primary", Timestamp{5'030'000'000}, "connect_failed", Timestamp{1'000'000'000}, true}};
  const auto late = finished(unreachable(), Seconds(6), Timestamp{5'000'000'000});
  write({finished(unreachable(), Seconds(2), Timestamp{1'000'000'000}), late});  // over an hour, as the database has it
  ASSERT_TRUE(outages.outage_of(late));
  EXPECT_EQ(outages.outage_of(late)->since, late.finished_at - Seconds(4));
  store.outages[0].of_this_host = false;
  write({late});
  EXPECT_EQ(outages.outage_of(late)->since, Timestamp{1'000'000'000}) << "others may know of it for longer";
}

// A host that loses its way during the target's outage has both in one batch.
TEST_F(BlamingTargets, AnOutageOfAnswersDoesNotHideWhatThisHostAloneFinds) {  // T13
  store.outages = {{kDefaultOrg, "sms.primary", Timestamp{31'000'000}, "connect_failed", Timestamp{1'000'000}, true},
                   {kDefaultOrg, "sms.primary", Timestamp{41'000'000}, "http_503", Timestamp{2'000'000}, false}};
  const auto silent = finished(unreachable(), Seconds(2), Timestamp{1'000'000});
  auto refused = finished(testing::failed(), Seconds(1), Timestamp{2'000'000});
  refused.outcome->scope = Scope::whole_target;
  write({silent, refused});
  EXPECT_TRUE(outages.is_own_finding(silent));
  EXPECT_FALSE(outages.is_own_finding(refused));
  EXPECT_EQ(outages.cooldown_of(refused)->until, Timestamp{41'000'000});
  outages.forget();
  outages.remember(silent, store.outages[0]);
  EXPECT_TRUE(outages.is_own_finding(silent)) << "settled later";
}

}  // namespace
}  // namespace waybill
