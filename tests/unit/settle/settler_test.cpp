// The settler on a database that comes, goes and refuses: everything is written once, and nothing is lost.  M6 M12 M18
#include "settle/settler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "support/call_builders.h"
#include "support/eventually.h"
#include "support/fake_store.h"
#include "unit/settle/jobs.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::contract_of;
using testing::eventually;
using testing::failed;
using testing::FakeStore;
using testing::KeptLog;
using testing::ManualClock;

class Settling : public ::testing::Test {
 protected:
  void start() {
    settler = std::make_unique<Settler>(
        store, answers, clock, settings, [this] { return all_out.load(); },
        [this](const Settler::WriteResult& written) {
          const std::lock_guard lock(mutex_);
          written_ += written.batch.size();
          moved_.insert(moved_.end(), written.moved.begin(), written.moved.end());
          unwritten_.insert(unwritten_.end(), written.unwritten.begin(), written.unwritten.end());
        },
        log, metrics);
    settler->start();
  }

  // Puts deliveries into the world and claims them, as a claimer would.
  std::vector<Finished> claimed(std::size_t count, Outcome outcome = accepted(), const std::string& prefix = "ref-") {
    const auto route = store.add_route(kDefaultOrg, contract_of(Policy::max_attempts));
    for (std::size_t i = 0; i < count; ++i) store.add(route, prefix + std::to_string(i));
    std::vector<Finished> all;
    for (Shard shard = 0; shard < 4; ++shard) {
      const ClaimToken token{++last_token_};
      const auto rows =
          store.claim(shard, {1}, token, Millis(0), std::vector<RouteShare>{{route, count, {}, {}}}, {}, std::size_t{1} << 30);
      for (const auto& row : rows->rows) {
        auto finished = testing::finished_with(outcome);
        finished.job.delivery = row.delivery;
        finished.job.submission = row.submission;
        finished.job.token = token;
        finished.job.idempotency_key = row.client_ref;
        all.push_back(std::move(finished));
      }
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }

  std::size_t written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  std::size_t moved() {
    const std::lock_guard lock(mutex_);
    return moved_.size();
  }
  std::vector<ClaimToken> unwritten() {
    const std::lock_guard lock(mutex_);
    return unwritten_;
  }
  bool metrics_say(const std::string& line) { return metrics.text().find(line) != std::string::npos; }
  bool each_settled_once() {
    for (const auto& d : store.deliveries())
      if (d.settled.size() != 1) return false;
    return true;
  }

  FakeStore store{4};
  Answers answers;
  ManualClock clock;
  KeptLog log;
  Metrics metrics;
  SettlerSettings settings{
      .actor = "box:1", .retry = {{"default", {}}}, .cooldown = Seconds(30), .batch = 1000, .gather = Millis(1)};
  std::atomic<std::size_t> all_out{0};  // 0: nothing else is out, so there is nothing to wait for
  std::unique_ptr<Settler> settler;

 private:
  std::int64_t last_token_ = 0;
  std::mutex mutex_;
  std::size_t written_ = 0;
  std::vector<SubmissionId> moved_;
  std::vector<ClaimToken> unwritten_;
};

TEST_F(Settling, WritesABatchWithOneCallForEachShard) {  // M6
  auto jobs = claimed(100);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 100; }));
  EXPECT_EQ(store.count(Status::accepted), 100u);
  EXPECT_TRUE(each_settled_once());
  EXPECT_EQ(store.calls("settle"), 4u);
  EXPECT_EQ(moved(), 100u);
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 100"));
}

TEST_F(Settling, NoBatchIsLargerThanItsLimit) {
  settings.batch = 10;
  auto jobs = claimed(95);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 95; }));
  const auto sizes = store.batches("settle");
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 10u);
  EXPECT_TRUE(each_settled_once());
}

TEST_F(Settling, ASmallBatchWaitsForWhatIsStillOut) {
  settings.gather = std::chrono::hours(1);
  auto jobs = claimed(2);
  all_out = 2;
  start();
  settler->take({std::move(jobs[0])});
  settler->take({std::move(jobs[1])});
  ASSERT_TRUE(eventually([&] { return written() == 2; })) << "all that is out is here: there is nothing to wait for";
  EXPECT_EQ(store.count(Status::accepted), 2u);
}

TEST_F(Settling, ADatabaseThatIsAwayDelaysAndLosesNothing) {  // M12
  auto first = claimed(20, accepted(), "a-"), second = claimed(20, accepted(), "b-");
  store.go_away();
  start();
  settler->take(std::move(first));
  ASSERT_TRUE(eventually([&] { return log.count("settle.database_unavailable") >= 2; }));
  settler->take(std::move(second));
  EXPECT_EQ(written(), 0u);
  store.come_back();
  ASSERT_TRUE(eventually([&] { return written() == 40; }));
  EXPECT_EQ(store.count(Status::accepted), 40u);
  EXPECT_TRUE(each_settled_once());
}

TEST_F(Settling, ACommitWhoseAnswerWasLostIsNotWrittenTwice) {  // M12
  auto jobs = claimed(20);
  store.lose_answers(1);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 20; }));
  EXPECT_EQ(store.count(Status::accepted), 20u);
  EXPECT_TRUE(each_settled_once());
  EXPECT_EQ(log.count("settle.stale"), 0u) << "it was our own writing";
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 20"));
}

TEST_F(Settling, OnePoisonedSettlementDoesNotBlockTheOthers) {
  auto jobs = claimed(50);
  const auto poisoned =
      std::find_if(jobs.begin(), jobs.end(), [](const auto& one) { return one.job.idempotency_key == "ref-7"; })->job.token;
  store.poison("ref-7");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 50; }));
  EXPECT_EQ(store.count(Status::accepted), 49u);
  EXPECT_EQ(store.count(Status::claimed), 1u) << "its lease brings it back";
  EXPECT_EQ(unwritten(), std::vector{poisoned}) << "its claim is not over";
  EXPECT_EQ(log.count("settle.refused_by_database"), 1u);
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 49"));
  EXPECT_EQ(log.count("settle.stale"), 0u);
}

TEST_F(Settling, StaleClaimsAreDroppedAndCounted) {  // M18
  auto jobs = claimed(10);
  for (std::size_t i = 0; i < 3; ++i) jobs[i].job.token = {999};
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 10; }));
  EXPECT_EQ(store.count(Status::accepted), 7u);
  EXPECT_EQ(store.count(Status::claimed), 3u);
  EXPECT_TRUE(metrics_say("submission_claims_lost_total{why=\"stale_settle\"} 3"));
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 7"));
  EXPECT_TRUE(metrics_say("submission_attempt_seconds_count{action_type=\"sms\"} 7")) << metrics.text();
  EXPECT_EQ(log.count("settle.stale"), 3u);
}

TEST_F(Settling, AStaleClaimOfTheSameDeliveryInOneBatchIsDroppedAndCountsForNothing) {  // E8 M18
  auto jobs = claimed(1);
  auto stale = jobs[0];
  stale.job.token = {999};
  stale.outcome = testing::rejected("invalid_request");
  jobs.insert(jobs.begin(), stale);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.count(Status::accepted), 1u);
  EXPECT_EQ(log.count("settle.stale"), 1u);
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 1"));
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"rejected\"} 0")) << metrics.text();
}

Outcome blaming() {
  auto outage = failed();
  outage.scope = Scope::whole_target;
  return outage;
}

TEST_F(Settling, AnOutageOfTheWholeTargetIsWrittenAsARest) {  // E14
  auto jobs = claimed(2, blaming());
  jobs[1].outcome->retry_after = Seconds(600);
  const auto finished_at = jobs[0].finished_at;
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  const auto cooldowns = store.cooling();
  ASSERT_EQ(cooldowns.size(), 1u);
  EXPECT_EQ(cooldowns[0].org, kDefaultOrg);
  EXPECT_EQ(cooldowns[0].target, "sms.primary");
  EXPECT_EQ(cooldowns[0].since, finished_at);
  EXPECT_EQ(cooldowns[0].until, finished_at + Seconds(600));
  EXPECT_EQ(cooldowns[0].reason, "http_503");
  EXPECT_EQ(store.count(Status::due), 2u);
  for (const auto& d : store.deliveries())
    EXPECT_EQ(d.row.due, finished_at + Seconds(600)) << "the cooldown's end, not the usual wait";
}

TEST_F(Settling, ACooldownIsWrittenBeforeAnythingOfItsTargetIsDueAgain) {  // E14
  auto jobs = claimed(3, blaming());
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  const auto calls = store.order_of_calls();
  const auto at = [&](const char* name) { return std::find(calls.begin(), calls.end(), name) - calls.begin(); };
  EXPECT_LT(at("blame"), at("settle"));
  EXPECT_EQ(store.calls("blame"), 1u) << "one for all of the batch";
}

// T4
TEST_F(Settling, ALockOnOutagesKeepsNoSettlementWaiting) {
  store.lock_outages();
  auto jobs = claimed(3, blaming());
  for (auto& job : claimed(2, accepted(), "other-")) {
    job.job.outage_since = job.finished_at;
    jobs.push_back(std::move(job));
  }
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 5; }));
  EXPECT_TRUE(store.cooling().empty());
  EXPECT_EQ(store.count(Status::due), 3u);
  EXPECT_EQ(store.count(Status::accepted), 2u);
  for (const auto& d : store.deliveries()) {
    if (d.status != Status::due) continue;
    EXPECT_EQ(d.row.history.attempt_count - d.settled.back().history.uncounted, 0u) << "it does not count all the same";
  }
  EXPECT_GE(log.count("settle.outages_not_written"), 2u);
}

// T4
TEST_F(Settling, AfterALockOutagesAreLeftAloneForAMomentAndSettlementsGoOn) {
  store.lock_outages();
  start();
  for (std::size_t round = 1; round <= 3; ++round) {
    settler->take(claimed(1, blaming(), "a" + std::to_string(round)));
    ASSERT_TRUE(eventually([&] { return written() == round; }));
    EXPECT_EQ(store.calls("blame"), 1u) << "nobody waits for the lock again";
  }
  clock.pass(Seconds(1));
  settler->take(claimed(1, blaming(), "later-"));
  ASSERT_TRUE(eventually([&] { return written() == 4; }));
  EXPECT_EQ(store.calls("blame"), 2u);
}

// T4
TEST_F(Settling, SoIsOneWhoseRowIsLocked) {
  start();
  auto first = claimed(1, blaming());
  store.lock_outage(first[0].job.contract->cooldown_key());
  settler->take(std::move(first));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  settler->take(claimed(1, blaming(), "again-"));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.calls("blame"), 1u);
  clock.pass(Seconds(1));
  settler->take(claimed(1, blaming(), "later-"));
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  EXPECT_EQ(store.calls("blame"), 2u);
}

TEST_F(Settling, CooldownsGrowWithTheOutageUpToWhatTheOperatorSays) {  // E14
  settings.cooldown = Seconds(30);
  const auto begin = testing::finished_with(blaming()).finished_at;
  start();
  const std::pair<Seconds, Seconds> rows[] = {
      {Seconds(0), Seconds(1)}, {Seconds(60), Seconds(2)}, {Seconds(600), Seconds(20)}, {Seconds(3600), Seconds(30)}};
  std::size_t done = 0;
  for (const auto& [after, cooldown] : rows) {
    auto jobs = claimed(1, blaming(), "after-" + std::to_string(after.count()) + "-");
    jobs[0].finished_at = begin + after;
    settler->take(std::move(jobs));
    ++done;
    ASSERT_TRUE(eventually([&] { return written() == done; }));
    ASSERT_EQ(store.cooling().size(), 1u);
    EXPECT_EQ(store.cooling()[0].since, begin);
    EXPECT_EQ(store.cooling()[0].until, begin + after + cooldown) << after.count();
  }
  EXPECT_EQ(log.count("target.cooldown"), 1u) << "an outage is told once";
}

TEST_F(Settling, AnOutageUsesUpNobodysAttemptsUntilItHasLastedTooLong) {  // E14
  settings.outage = std::chrono::hours(24);
  const auto last = [&](Millis length, const std::string& prefix) {
    auto jobs = claimed(1, blaming(), prefix);
    jobs[0].job.history.attempt_count = 8;  // of three that count
    jobs[0].job.history.uncounted = 6;
    jobs[0].job.outage_since = jobs[0].finished_at - length;
    EXPECT_TRUE(store.cool_down(
        std::vector<Cooldown>{{kDefaultOrg, "sms.primary", jobs[0].finished_at, "http_503", *jobs[0].job.outage_since}}));
    return jobs;
  };
  start();
  settler->take(last(std::chrono::hours(23), "short-"));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.count(Status::due), 1u);
  EXPECT_EQ(store.deliveries()[0].settled.at(0).history.uncounted, 7u);
  settler->take(last(std::chrono::hours(24), "long-"));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.count(Status::exhausted), 1u);
}

TEST_F(Settling, TheFirstAttemptThatGetsThroughEndsTheOutageThatItKnewOf) {  // E14
  struct Case {
    const char* name;
    Outcome outcome;
    bool ends;
  };
  auto invalid = testing::rejected("invalid_request");
  invalid.reach = Reach::not_sent;
  auto busy = failed();
  busy.code = 408;
  const Case cases[] = {{"accepted", accepted(), true},
                        {"rejected", testing::rejected("invalid_request"), true},
                        {"a failure of its own", busy, true},
                        {"a 5xx", failed(), false},  // T14: it tells of no end
                        {"late", failed(Reach::maybe_sent), false},
                        {"never sent", failed(Reach::not_sent), false},
                        {"refused by its plugin", invalid, false},
                        {"blaming", blaming(), false}};
  start();
  std::size_t done = 0;
  for (const auto& [name, outcome, ends] : cases) {
    auto jobs = claimed(1, outcome, name);
    const auto since = jobs[0].finished_at - Seconds(10);
    ASSERT_TRUE(store.cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", jobs[0].finished_at, "http_503", since}}));
    jobs[0].job.outage_since = since;
    jobs[0].job.probe = true;
    settler->take(std::move(jobs));
    ++done;
    ASSERT_TRUE(eventually([&] { return written() == done; }));
    EXPECT_EQ(store.cooling().empty(), ends) << name;
  }
  EXPECT_EQ(log.count("target.recovered"), 3u);
}

TEST_F(Settling, AnOldAnswerEndsNoNewOutage) {  // E14
  auto jobs = claimed(2);
  ASSERT_TRUE(
      store.cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", jobs[0].finished_at, "http_503", jobs[0].finished_at}}));
  jobs[0].job.outage_since = jobs[0].finished_at - Seconds(10);  // of the one before; the other was claimed before there was any
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.cooling().size(), 1u);
}

TEST_F(Settling, AProbeThatNeverSetOutGivesItsPlaceToAnother) {  // E14
  auto jobs = claimed(1);
  jobs[0].how = Finished::How::unattempted;
  jobs[0].outcome.reset();
  jobs[0].job.probe = true;
  jobs[0].job.outage_since = testing::kCreated;
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.calls("clear"), 1u);
}

TEST_F(Settling, WithoutAnOutageNothingIsAskedOfIt) {  // E14
  auto jobs = claimed(50);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 50; }));
  EXPECT_EQ(store.calls("clear") + store.calls("blame"), 0u);
}

TEST_F(Settling, ALoneRefusalAmongManyAnswersStopsNobodyAndUsesUpNoAttempt) {  // T34
  start();
  settler->take(claimed(200));
  ASSERT_TRUE(eventually([&] { return written() == 200; }));
  auto refused = claimed(1, blaming(), "refused-");
  refused[0].job.history.attempt_count = 8;  // of three that count
  refused[0].job.history.uncounted = 8;
  settler->take(std::move(refused));
  ASSERT_TRUE(eventually([&] { return written() == 201; }));
  EXPECT_EQ(store.calls("blame"), 0u);
  EXPECT_EQ(store.count(Status::due), 1u);
  settler->take(claimed(5, blaming(), "away-"));
  ASSERT_TRUE(eventually([&] { return written() == 206; }));
  EXPECT_EQ(store.cooling().size(), 1u) << "these are none";
}

TEST_F(Settling, ACooldownIsNotLostWithTheDatabase) {  // E14
  auto jobs = claimed(2, blaming());
  store.go_away();
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return log.count("settle.outages_not_written") >= 2; }));
  EXPECT_EQ(store.calls("settle"), 0u) << "nothing is due before its target cools down";
  store.come_back();
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.cooling().size(), 1u);
  EXPECT_EQ(store.count(Status::due), 2u);
}

TEST_F(Settling, AFailureOfOneDeliveryRestsNothing) {
  auto jobs = claimed(1, failed());
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_TRUE(store.cooling().empty());
}

TEST_F(Settling, ATargetThatFailsForManyIsInAnOutageThatUsesUpNobodysAttempts) {  // T14
  settings.outage = std::chrono::hours(24);
  auto jobs = claimed(FailureBreaker::kFloor, failed());
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == FailureBreaker::kFloor; }));
  ASSERT_EQ(store.cooling().size(), 1u);
  for (const auto& d : store.deliveries()) EXPECT_EQ(d.settled.at(0).history.uncounted, 1u);
}

TEST_F(Settling, ATargetThatWantsALiteralCountGetsIt) {  // T14
  settings.outage = std::chrono::hours(24);
  auto jobs = claimed(1, blaming());
  jobs[0].job.history.attempt_count = 2;
  Contract contract = *jobs[0].job.contract;
  contract.count_outages = true;
  jobs[0].job.contract = std::make_shared<const Contract>(contract);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.count(Status::exhausted), 1u);
  EXPECT_EQ(store.cooling().size(), 1u) << "its target cools down all the same";
}

TEST_F(Settling, AStageWaitsOutAnOutageAsATargetDoes) {  // T10
  settings.outage = std::chrono::hours(24);
  auto jobs = claimed(1, blaming());
  jobs[0].job.history.attempt_count = 2;  // of three
  Contract contract = *jobs[0].job.contract;
  contract.stage = StageTerms{.pipeline = "verification", .state = "TIER1_SCANNING"};
  jobs[0].job.contract = std::make_shared<const Contract>(contract);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.count(Status::due), 1u);
  EXPECT_EQ(store.deliveries()[0].settled.at(0).history.uncounted, 1u);
}

TEST_F(Settling, WhatThisHostAloneCannotReachIsForTheOthers) {  // T13
  settings.outage = std::chrono::hours(24);
  store.have_others();
  auto unreachable = blaming();
  unreachable.reach = Reach::not_sent;
  auto jobs = claimed(2, unreachable);
  Contract contract = contract_of(Policy::one_shot);
  jobs[0].job.contract = std::make_shared<const Contract>(contract);
  jobs[1].job.history.attempt_count = 2;  // of three
  const auto finished_at = jobs[0].finished_at;
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  for (const auto& d : store.deliveries()) {
    EXPECT_EQ(d.status, Status::due);
    EXPECT_EQ(d.row.due, finished_at + kOthersTurn) << "they may send it before this host tries again";
    EXPECT_EQ(d.settled.at(0).history.uncounted, 1u);
    EXPECT_NE(d.settled.at(0).attempt->error.find("(so finds host box:1 alone)"), std::string::npos);
  }
}

TEST_F(Settling, SoIsAChannelThatThisHostAloneCannotReach) {  // T13
  settings.outage = std::chrono::hours(24);
  store.have_others();
  for (const auto reach : {Reach::not_sent, Reach::maybe_sent}) {
    auto unreachable = blaming();
    unreachable.reach = reach;
    auto jobs = claimed(1, unreachable);
    Contract contract = *jobs[0].job.contract;
    contract.channel = "9f1c";
    contract.target = "channel:9f1c";
    jobs[0].job.contract = std::make_shared<const Contract>(contract);
    jobs[0].job.history.attempt_count = 2;  // of three
    const auto delivery = jobs[0].job.delivery;
    const auto already = written();
    if (!settler) start();
    settler->take(std::move(jobs));
    ASSERT_TRUE(eventually([&] { return written() == already + 1; }));
    EXPECT_EQ(store.delivery(delivery).status, Status::due);
    EXPECT_EQ(store.delivery(delivery).settled.at(0).history.uncounted, 1u);
  }
}

TEST_F(Settling, AOneShotThatMayHaveLeftIsOverWhoeverIsToBlame) {  // T13
  settings.outage = std::chrono::hours(24);
  store.have_others();
  auto silent = blaming();
  silent.reach = Reach::maybe_sent;
  auto jobs = claimed(1, silent);
  jobs[0].job.contract = std::make_shared<const Contract>(contract_of(Policy::one_shot));
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.count(Status::exhausted), 1u);
}

TEST_F(Settling, EachActionTypeHasItsOwnRetryTiming) {  // M9
  settings.retry["sms"] = {.delay = Seconds(90)};
  auto jobs = claimed(1, failed());
  const auto finished_at = jobs[0].finished_at;
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.deliveries()[0].row.due, finished_at + Seconds(90));
}

TEST_F(Settling, OnlyWhatMovedIsToldToThoseWhoWait) {  // M5
  auto jobs = claimed(3);
  jobs[0].how = Finished::How::unattempted;
  jobs[0].outcome.reset();
  jobs[1].how = Finished::How::expired;
  jobs[1].outcome.reset();
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  EXPECT_EQ(moved(), 2u);
  EXPECT_EQ(store.count(Status::due), 1u);
  EXPECT_EQ(store.count(Status::exhausted), 1u);
  EXPECT_EQ(store.count(Status::accepted), 1u);
}

TEST_F(Settling, StoppingWritesWhatIsThere) {  // M12
  settings.gather = std::chrono::hours(1);
  settings.batch = 7;
  all_out = 1000;
  auto jobs = claimed(40);
  start();
  settler->take(std::move(jobs));
  settler->stop(Seconds(5));
  EXPECT_EQ(store.count(Status::accepted), 40u);
  EXPECT_TRUE(each_settled_once());
}

TEST_F(Settling, StoppingGivesUpOnADatabaseThatStaysAwayBeyondItsPatience) {  // M12
  auto jobs = claimed(5);
  store.go_away();
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return log.count("settle.database_unavailable") >= 1; }));
  settler->stop(Millis(0));
  EXPECT_GE(log.count("settle.given_up"), 1u);
  EXPECT_EQ(written(), 5u) << "they are let go of";
  EXPECT_EQ(store.count(Status::claimed), 5u) << "their leases bring them back";
}

TEST_F(Settling, StoppingIsPatientWithADatabaseThatComesBack) {  // M12
  auto jobs = claimed(5);
  store.go_away();
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return log.count("settle.database_unavailable") >= 1; }));
  std::jthread repair([&] {
    const auto before = store.calls("settle");
    EXPECT_TRUE(eventually([&] { return store.calls("settle") > before + 8; }));
    store.come_back();
  });
  settler->stop(Seconds(5));  // by a clock that stands still: as long as it takes
  EXPECT_EQ(store.count(Status::accepted), 5u);
  EXPECT_EQ(log.count("settle.given_up"), 0u);
}

TEST_F(Settling, ALockedRowKeepsNoOtherWaitingAndIsWrittenWhenItIsFree) {  // E4
  auto jobs = claimed(50);
  store.lock("ref-7");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 49; }));
  EXPECT_EQ(store.count(Status::accepted), 49u);
  EXPECT_EQ(moved(), 49u) << "whoever waits for the other waits on";
  EXPECT_EQ(log.count("settle.locked"), 1u);
  EXPECT_EQ(log.count("settle.unlocked"), 0u);
  store.unlock_rows();
  ASSERT_TRUE(eventually([&] { return written() == 50; })) << "also when nothing else comes in";
  EXPECT_EQ(store.count(Status::accepted), 50u);
  EXPECT_TRUE(each_settled_once());
  EXPECT_TRUE(unwritten().empty());
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 50"));
  EXPECT_EQ(log.count("settle.unlocked"), 1u);
  EXPECT_EQ(log.count("settle.stale"), 0u);
}

TEST_F(Settling, WhatIsLockedIsAskedForAndCostsNoLockTimeoutEachTime) {  // E4
  auto first = claimed(5, accepted(), "a-"), second = claimed(5, accepted(), "b-"), third = claimed(5, accepted(), "c-");
  const auto timeouts = [&] { return store.calls("settle") - store.batches("settle").size(); };
  for (const char* ref : {"a-1", "b-1", "b-2"}) store.lock(ref);
  start();
  settler->take(std::move(first));
  ASSERT_TRUE(eventually([&] { return written() == 4; }));
  EXPECT_EQ(timeouts(), 1u);
  settler->take(std::move(second));
  ASSERT_TRUE(eventually([&] { return written() == 7; }));
  EXPECT_EQ(timeouts(), 1u) << "where one is locked more may be";
  const auto asked = store.calls("locked");
  ASSERT_TRUE(eventually([&] { return store.calls("locked") > asked + 2; }));
  EXPECT_EQ(timeouts(), 1u) << "asking is not trying";
  settler->take(std::move(third));
  ASSERT_TRUE(eventually([&] { return written() == 12; }));
  store.unlock_rows();
  ASSERT_TRUE(eventually([&] { return written() == 15; }));
  EXPECT_TRUE(each_settled_once());
  EXPECT_EQ(log.count("settle.locked"), 1u) << "once, however many follow";
}

TEST_F(Settling, WithoutALockNothingIsAskedAboutLocks) {  // E4
  auto jobs = claimed(50);
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 50; }));
  EXPECT_EQ(store.calls("locked"), 0u);
}

TEST_F(Settling, LockedAndPoisonedInOneBatchGoTheirOwnWaysAndNothingIsCountedTwice) {  // E4
  auto jobs = claimed(40);
  store.poison("ref-3");
  store.lock("ref-7");
  store.lock("ref-20");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 38; }));
  EXPECT_EQ(store.count(Status::accepted), 37u);
  EXPECT_EQ(unwritten().size(), 1u);
  store.unlock_rows();
  ASSERT_TRUE(eventually([&] { return written() == 40; }));
  EXPECT_EQ(store.count(Status::accepted), 39u);
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"accepted\"} 39")) << metrics.text();
  EXPECT_TRUE(metrics_say("submission_attempt_seconds_count{action_type=\"sms\"} 39")) << metrics.text();
}

TEST_F(Settling, WhatIsLockedKeepsTheOutageThatItWasPartOf) {  // E4 E14
  auto jobs = claimed(2, blaming());
  jobs[1].outcome->retry_after = Seconds(600);
  store.lock("ref-0");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  settler->take(claimed(1, accepted(), "other-"));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  store.unlock_rows();
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  EXPECT_EQ(store.calls("blame"), 1u) << "it blames its target once";
  EXPECT_EQ(store.count(Status::due), 2u);
  for (const auto& d : store.deliveries()) EXPECT_TRUE(d.status == Status::accepted || d.row.due == store.cooling().at(0).until);
}

TEST_F(Settling, StoppingIsPatientWithALock) {  // E4 M12
  auto jobs = claimed(5);
  store.lock("ref-2");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 4; }));
  std::jthread repair([&] {
    const auto before = store.calls("locked");
    EXPECT_TRUE(eventually([&] { return store.calls("locked") > before + 1; }));
    store.unlock_rows();
  });
  settler->stop(Seconds(5));  // by a clock that stands still: as long as it takes
  EXPECT_EQ(store.count(Status::accepted), 5u);
  EXPECT_EQ(log.count("settle.given_up"), 0u);
}

TEST_F(Settling, StoppingGivesUpOnWhatStaysLocked) {  // E4 M12
  auto jobs = claimed(5);
  const auto locked =
      std::find_if(jobs.begin(), jobs.end(), [](const auto& one) { return one.job.idempotency_key == "ref-2"; })->job.token;
  store.lock("ref-2");
  start();
  settler->take(std::move(jobs));
  ASSERT_TRUE(eventually([&] { return written() == 4; }));
  settler->stop(Millis(0));
  EXPECT_EQ(log.count("settle.given_up"), 1u);
  EXPECT_EQ(written(), 5u) << "it is let go of";
  EXPECT_EQ(unwritten(), std::vector{locked}) << "its claim is not over";
  EXPECT_EQ(store.count(Status::claimed), 1u);
}

Outcome composed(const std::string& bytes) {
  auto outcome = accepted();
  outcome.artifact = Artifact{"text/plain", bytes};
  return outcome;
}

TEST_F(Settling, WhatWasComposedIsKeptAndDueAgainAndCountsForNothing) {  // H4
  start();
  auto batch = claimed(3, composed("letter"));
  for (auto& one : batch) one.how = Finished::How::composed;
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  EXPECT_EQ(store.count(Status::due), 3u);
  for (const auto& d : store.deliveries()) {
    EXPECT_EQ(d.row.artifact, (Artifact{"text/plain", "letter"}));
    EXPECT_EQ(d.row.history.attempt_count, 0u);
    EXPECT_TRUE(d.settled.empty());
  }
  EXPECT_EQ(moved(), 0u) << "no attempt has ended";
}

TEST_F(Settling, ComposedAndEndedJobsOfOneBatchGoTheirOwnWays) {  // H4
  start();
  auto batch = claimed(2, composed("letter"));
  for (auto& one : batch) one.how = Finished::How::composed;
  auto ended = claimed(2, accepted(), "done-");
  batch.insert(batch.end(), ended.begin(), ended.end());
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 4; }));
  EXPECT_EQ(store.count(Status::due), 2u);
  EXPECT_EQ(store.count(Status::accepted), 2u);
}

TEST_F(Settling, AnArtefactWhoseWritingFailedIsWrittenAgain) {  // M12
  auto batch = claimed(1, composed("letter"));
  store.lose_answers(1);
  start();
  batch.front().how = Finished::How::composed;
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(store.count(Status::due), 1u);
  EXPECT_GE(store.calls("keep"), 2u);
}

TEST_F(Settling, AnArtefactWhoseRowIsLockedKeepsNoOtherWaiting) {  // E4
  auto batch = claimed(3, composed("letter"));
  for (auto& one : batch) one.how = Finished::How::composed;
  store.lock("ref-1");
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  store.unlock_rows();
  ASSERT_TRUE(eventually([&] { return written() == 3; }));
  EXPECT_EQ(store.count(Status::due), 3u);
}

TEST_F(Settling, FailuresAreAddedUpForTheDigestByTargetAndReason) {  // F13
  auto batch = claimed(3, failed());
  batch[2].outcome->reason = "timeout";
  auto good = claimed(2, accepted(), "good-");
  batch.insert(batch.end(), good.begin(), good.end());
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 5; }));
  std::map<std::string, std::uint64_t> counts;
  for (const auto& one : store.failures()) counts[one.action_type + " " + one.target + " " + one.reason] += one.count;
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"sms sms.primary http_503", 2}, {"sms sms.primary timeout", 1}}));
}

// T20
TEST_F(Settling, TheDigestHasOnlyShortIdentifiersAndFewOfOneTarget) {
  auto batch = claimed(200, failed());
  for (std::size_t i = 0; i < batch.size(); ++i)
    batch[i].outcome->reason = i % 2 == 0 ? "order " + std::to_string(i) + " of Erika Mustermann" : "id-" + std::to_string(i);
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 200; }));
  std::map<std::string, std::uint64_t> counts;
  for (const auto& one : store.failures()) counts[one.reason] += one.count;
  EXPECT_EQ(counts.size(), 31u);
  EXPECT_EQ(counts["other"], 170u);
}

TEST_F(Settling, ABatchWithoutAFailureCostsTheDigestNothing) {  // F13
  auto batch = claimed(5);
  auto rejected = claimed(5, testing::rejected("invalid_request"), "bad-");
  batch.insert(batch.end(), rejected.begin(), rejected.end());
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 10; }));
  EXPECT_EQ(store.calls("add_failures"), 0u);
}

TEST_F(Settling, AnAlertThatFailsIsNoFailureAndItsEndIsOnlyLoggedAndCounted) {  // F13
  auto batch = claimed(2, failed());
  for (auto& one : batch) {
    one.job.kind = kAlertKind;
    one.job.history.attempt_count = 2;  // the last that its contract allows
  }
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 2; }));
  EXPECT_EQ(store.count(Status::exhausted), 2u);
  EXPECT_EQ(store.calls("add_failures"), 0u);
  EXPECT_EQ(log.count("alert.not_delivered"), 2u);
  EXPECT_TRUE(metrics_say("submission_alerts_not_delivered_total 2"));
  EXPECT_TRUE(metrics_say("submission_intents_total{status=\"exhausted\"} 0"));
}

TEST_F(Settling, AnAlertThatArrivesIsNothingSpecial) {  // F13
  auto batch = claimed(1);
  batch[0].job.kind = kAlertKind;
  start();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return written() == 1; }));
  EXPECT_EQ(log.count("alert.not_delivered"), 0u);
  EXPECT_TRUE(metrics_say("submission_alerts_not_delivered_total 0"));
}

}  // namespace
}  // namespace waybill
