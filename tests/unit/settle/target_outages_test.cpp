// What a batch says of its targets.  T13
#include "settle/target_outages.h"

#include <gtest/gtest.h>

#include "support/call_builders.h"
#include "unit/settle/jobs.h"
#include "unit/settle/scripted_store.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::KeptLog;
using testing::ManualClock;
using testing::ScriptedStore;

class BlamingTargets : public ::testing::Test {
 protected:
  // Claimed when this host's clock said so, and the database's that; it took half a second.
  static Finished finished(Outcome outcome, Seconds mono, Timestamp database) {
    auto one = testing::finished_with(std::move(outcome));
    one.job.claimed_mono = Clock::Monotonic(mono);
    one.job.claimed_at = database;
    one.finished_at = database + Millis(500);
    return one;
  }
  static Outcome unreachable() {
    return {.verdict = Verdict::transient, .reach = Reach::not_sent, .scope = Scope::whole_target, .reason = "connect_failed"};
  }
  void write(std::vector<Finished> batch) {
    clock.pass(Seconds(2));  // the store begins no outage, so the target passes for locked: for a second
    outages.write(batch, [] { return true; });
  }

  ScriptedStore store;
  ManualClock clock;
  KeptLog log;
  TargetOutages outages{store, clock, {.cooldown = Seconds(30), .outage = std::chrono::hours(24)}, log};
};

TEST_F(BlamingTargets, WhenThisHostLastHadAnAnswerIsToldWithThem) {
  write({finished(unreachable(), Seconds(1), Timestamp{1'000'000'000})});
  ASSERT_EQ(store.blames.size(), 1u);
  EXPECT_EQ(store.blames[0].reached, Timestamp{}) << "never";
  write({finished(accepted(), Seconds(2), Timestamp{1'001'000'000})});
  write({finished(unreachable(), Seconds(5), Timestamp{1'004'000'000})});
  ASSERT_EQ(store.blames.size(), 2u);
  EXPECT_EQ(store.blames[1].reached, Timestamp{1'001'500'000});
}

TEST_F(BlamingTargets, AnAnswerFromBeforeTheDatabasesClockWasSetBackIsNotOneSince) {
  write({finished(accepted(), Seconds(2), Timestamp{5'000'000'000})});
  write({finished(unreachable(), Seconds(5), Timestamp{1'000'000'000})});  // and more than an hour less
  ASSERT_EQ(store.blames.size(), 1u);
  EXPECT_EQ(store.blames[0].reached, Timestamp{997'500'000});
  EXPECT_LT(store.blames[0].reached, store.blames[0].at);
}

}  // namespace
}  // namespace waybill
