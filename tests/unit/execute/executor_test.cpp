// Every job comes back exactly once, whatever its sender does.  H4 H5 M6 M7
#include "execute/executor.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/eventually.h"
#include "unit/execute/scripted_sender.h"

namespace waybill {
namespace {

using testing::SilentLog;
using testing::Stage;

const Outcome kAccepted{.verdict = Verdict::accepted, .reach = Reach::answered};

class Execution : public ::testing::Test {
 protected:
  inline static const ExecutorSettings kPatient{
      .attempt_timeout = Millis(60'000), .grace = Millis(20), .stuck_after = Millis(60'000)};
  inline static const ExecutorSettings kHasty{
      .attempt_timeout = Millis(10), .grace = Millis(10), .stuck_after = Millis(10), .hangs = {.after = 2}};

  void make(ExecutorSettings settings = kPatient) {
    executor = std::make_unique<Executor>(stage, clock, settings, log, metrics);
    executor->start(
        [this](std::vector<Finished> batch) {
          const std::lock_guard lock(mutex_);
          ++batches_;
          for (auto& one : batch) finished_.push_back(std::move(one));
          changed_.notify_all();
        },
        [this](const Hang& hang) {
          const std::lock_guard lock(mutex_);
          hangs_.push_back(hang.action_type + " " + (hang.job ? std::to_string(hang.job->delivery.value) : "-") + " pauses " +
                           std::to_string(hang.pause.count()));
        });
  }
  Job job() { return job(contract_of(Policy::one_shot)); }
  Job job(std::shared_ptr<const Contract> contract) {
    Job made;
    made.delivery = {++last_};
    made.contract = std::move(contract);
    made.created = made.claimed_at = {5'000'000};
    made.claimed_mono = clock.now();
    made.kind = "intent";
    made.payload = "payload";
    return made;
  }
  static std::shared_ptr<const Contract> contract_of(Policy policy, Seconds most = Seconds(0)) {
    auto contract = std::make_shared<Contract>();
    contract->action_type = "type";
    contract->policy = policy;
    contract->max_acceptance = most;
    return contract;
  }
  void start(Job one) {
    std::vector<Job> jobs;
    jobs.push_back(std::move(one));
    executor->execute(std::move(jobs));
  }
  void start_many(int count) {
    std::vector<Job> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(job());
    executor->execute(std::move(jobs));
  }
  // Waits until `count` jobs came back in all, and returns them in order.
  std::vector<Finished> finished(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return finished_.size() >= count; }));
    EXPECT_EQ(finished_.size(), count);
    return finished_;
  }
  std::vector<std::string> hangs() {
    const std::lock_guard lock(mutex_);
    return hangs_;
  }
  int batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

  Stage stage;
  SilentLog log;
  Metrics metrics;
  SystemClock clock;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Finished> finished_;
  std::vector<std::string> hangs_;
  int batches_ = 0;
  std::int64_t last_ = 0;

 protected:
  std::unique_ptr<Executor> executor;
};

TEST_F(Execution, ACompletedJobComesBackWithItsOutcome) {
  make();
  start(job());
  const auto begun = stage.next();
  EXPECT_EQ(begun.job->payload, "payload");
  EXPECT_EQ(begun.deadline, Millis(60'000));
  EXPECT_EQ(executor->in_flight(), 1u);
  EXPECT_TRUE(begun.completions->complete(begun.call, kAccepted));
  begun.completions->flush();
  const auto back = finished(1);
  EXPECT_EQ(back[0].how, Finished::How::attempted);
  EXPECT_EQ(back[0].outcome, kAccepted);
  EXPECT_EQ(back[0].job.delivery, DeliveryId{1});
  EXPECT_EQ(back[0].job.contract->action_type, "type");
  EXPECT_EQ(back[0].job.kind, "intent");
  EXPECT_GE(back[0].started_at.micros, 5'000'000);
  EXPECT_LE(back[0].started_at, back[0].finished_at);
  EXPECT_EQ(stage.ended(), 1u);
  EXPECT_TRUE(executor->stop(Millis(60'000)));
  EXPECT_EQ(executor->in_flight(), 0u);
}

TEST_F(Execution, ATargetsTimeLimitGoesBeforeTheGeneralOne) {  // T25
  auto settings = kPatient;
  settings.time_limit = [](const Contract& contract) {
    return contract.target == "slow" ? std::optional(Millis(90'000)) : std::nullopt;
  };
  make(settings);
  auto slow = std::make_shared<Contract>(*contract_of(Policy::one_shot));
  slow->target = "slow";
  std::vector<Job> jobs;
  jobs.push_back(job(slow));
  jobs.push_back(job());
  jobs.push_back(job(slow));
  executor->execute(std::move(jobs));
  for (int i = 0; i < 3; ++i) {
    const auto begun = stage.next();
    EXPECT_EQ(begun.deadline, begun.job->contract->target == "slow" ? Millis(90'000) : Millis(60'000));
    begun.completions->complete(begun.call, kAccepted);
    begun.completions->flush();
  }
  finished(3);
}

TEST_F(Execution, OnlyTheFirstCompletionOfACallCounts) {
  make();
  start(job());
  const auto begun = stage.next();
  EXPECT_TRUE(begun.completions->complete(begun.call, kAccepted));
  EXPECT_FALSE(begun.completions->complete(begun.call, kAccepted));
  EXPECT_FALSE(begun.completions->complete({4711}, kAccepted));
  begun.completions->flush();
  finished(1);
  EXPECT_NE(metrics.text().find("completed_twice_or_late"), std::string::npos);
}

TEST_F(Execution, OfManyThreadsThatCompleteOneCallExactlyOneSucceeds) {
  make();
  constexpr int kCalls = 200;
  start_many(kCalls);
  std::vector<Stage::Begun> begun;
  for (int i = 0; i < kCalls; ++i) begun.push_back(stage.next());
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (const auto& one : begun) {
        won += one.completions->complete(one.call, kAccepted);
        one.completions->flush();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, kCalls);
  finished(kCalls);
}

TEST_F(Execution, WhatWasCompletedInOneTurnIsHandedOnAsOneBatch) {
  make();
  start_many(100);
  for (int i = 0; i < 100; ++i) {
    const auto begun = stage.next();
    begun.completions->complete(begun.call, kAccepted);
    if (i == 99) begun.completions->flush();
  }
  finished(100);
  EXPECT_EQ(batches(), 1);
}

TEST_F(Execution, AJobWhoseContractIsOverIsNotSent) {
  make();
  auto late = job(contract_of(Policy::deadline, Seconds(10)));
  late.claimed_at = late.created + Seconds(10);
  start(std::move(late));
  const auto back = finished(1);
  EXPECT_EQ(back[0].how, Finished::How::expired);
  EXPECT_FALSE(back[0].outcome);
  start(job());
  EXPECT_EQ(stage.next().job->delivery, DeliveryId{2});  // the first never reached a sender
}

TEST_F(Execution, AnAttemptNeverGetsMoreTimeThanItsContractLeaves) {
  make();
  auto short_of_time = job(contract_of(Policy::deadline, Seconds(10)));
  short_of_time.claimed_at = short_of_time.created + Seconds(4);
  start(std::move(short_of_time));
  const auto deadline = stage.next().deadline;
  EXPECT_LE(deadline, Millis(6'000));
  EXPECT_GT(deadline, Millis(0));
}

TEST_F(Execution, AJobThatHasExpiredIsNotSentAndNoneIsSentPastItsTime) {  // Q4
  make();
  auto late = job();
  late.terms = terms_of({.not_before = {}, .expires = late.claimed_at, .producer = {}});
  start(std::move(late));
  EXPECT_EQ(finished(1)[0].how, Finished::How::expired);
  auto short_of_time = job();
  short_of_time.terms = terms_of({.not_before = {}, .expires = short_of_time.claimed_at + Seconds(4), .producer = {}});
  start(std::move(short_of_time));
  EXPECT_LE(stage.next().deadline, Millis(4'000));
}

TEST_F(Execution, AContractsTimeCountsFromTheSubmissionsOwn) {  // Q4
  make();
  auto job_of_later = job(contract_of(Policy::deadline, Seconds(10)));
  job_of_later.terms = terms_of({.not_before = job_of_later.created + Seconds(100), .expires = {}, .producer = {}});
  job_of_later.claimed_at = job_of_later.created + Seconds(105);
  start(std::move(job_of_later));
  EXPECT_GT(stage.next().deadline, Millis(0)) << "it is sent";
}

TEST_F(Execution, AJobWhoseLeaseIsOverIsNotSent) {  // E7
  make();
  auto late = job();
  late.begin_before = clock.now() - Millis(1);
  start(std::move(late));
  const auto back = finished(1);
  EXPECT_EQ(back[0].how, Finished::How::unattempted);
  EXPECT_FALSE(back[0].outcome);
}

TEST_F(Execution, AnAttemptNeverGetsMoreTimeThanItsLeaseLeaves) {  // E7
  make();
  auto short_of_time = job();
  short_of_time.begin_before = clock.now() + Seconds(30);
  start(std::move(short_of_time));
  const auto begun = stage.next();
  EXPECT_LE(begun.deadline, Seconds(30));
  EXPECT_TRUE(begun.completions->complete(begun.call, kAccepted));
  begun.completions->flush();
  EXPECT_EQ(finished(1)[0].how, Finished::How::attempted);
}

TEST_F(Execution, WhatHasNotBegunCanBeWithdrawnAndTheRestGoesOn) {  // E7
  make();
  start(job());
  const auto begun = stage.next();
  stage.hold = true;
  start(job());
  start(job());
  executor->withdraw();
  const auto back = finished(2);
  for (const auto& one : back) {
    EXPECT_EQ(one.how, Finished::How::unattempted);
    EXPECT_FALSE(one.not_before);
  }
  EXPECT_TRUE(begun.completions->complete(begun.call, kAccepted));
  begun.completions->flush();
  EXPECT_EQ(finished(3)[2].how, Finished::How::attempted);
}

TEST_F(Execution, WithoutASenderJobsComeBackUnattemptedToRest) {
  stage.refusals = 1'000'000;
  make();
  start(job());
  const auto back = finished(1);
  EXPECT_EQ(back[0].how, Finished::How::unattempted);
  EXPECT_EQ(back[0].not_before, Millis(60'000));
  EXPECT_EQ(executor->state("type"), Executor::State::missing);
}

TEST_F(Execution, CallsAreSpreadOverTheLanes) {
  stage.lane_count = 4;
  make();
  EXPECT_EQ(executor->concurrency("type"), 40u);
  start_many(8);
  std::vector<int> per_lane(4);
  for (int i = 0; i < 8; ++i) ++per_lane.at(stage.next().worker);
  EXPECT_EQ(per_lane, std::vector<int>(4, 2));
}

TEST_F(Execution, ASilentCallIsCancelledAtItsDeadlineAndDecidedAfterTheGrace) {
  make(kHasty);
  start(job());
  const auto begun = stage.next();
  EXPECT_TRUE(stage.wait_cancelled(begun.call));
  const auto back = finished(1);
  EXPECT_EQ(back[0].outcome->verdict, Verdict::transient);
  EXPECT_EQ(back[0].outcome->reach, Reach::maybe_sent);
  EXPECT_EQ(back[0].outcome->reason, "plugin_silent");
  EXPECT_GE((back[0].finished_at - back[0].started_at).count(), 20'000);
  EXPECT_FALSE(begun.completions->complete(begun.call, kAccepted));
}

TEST_F(Execution, AnAttemptThatHadNotBegunAtItsDeadlineWasNotAttempted) {
  stage.hold = true;
  make(kHasty);
  start(job());
  const auto back = finished(1);
  EXPECT_EQ(back[0].how, Finished::How::unattempted);
  EXPECT_FALSE(back[0].outcome);
}

// T12
TEST_F(Execution, AHangingSenderIsReplacedAtOnceAndAfterSeveralHangsTheTypePausesAndIsTriedAgain) {
  auto settings = kHasty;
  settings.hangs.pause = Millis(200);
  make(settings);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(executor->state("type"), Executor::State::ready);
    stage.inside = clock.now().time_since_epoch().count();
    stage.inside_call = static_cast<std::uint64_t>(i) + 1;
    start(job());
    EXPECT_EQ(finished(static_cast<std::size_t>(i) + 1).back().how, Finished::How::hung);
    stage.inside = 0;
  }
  EXPECT_EQ(stage.made, 2);
  EXPECT_EQ(stage.given_up, 2);
  EXPECT_TRUE(testing::eventually([&] { return executor->state("type") == Executor::State::ready; }));
  EXPECT_EQ(stage.made, 3);
  EXPECT_EQ(hangs(), (std::vector<std::string>{"type 1 pauses 0", "type 2 pauses 200"}));
}

// T12
TEST_F(Execution, WhatComesWhileTheTypePausesComesBackUnattempted) {
  make(kHasty);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    stage.inside = clock.now().time_since_epoch().count();
    stage.inside_call = i;
    start(job());
    finished(i);
  }
  EXPECT_EQ(executor->state("type"), Executor::State::stuck);
  start(job());
  EXPECT_EQ(finished(3).back().how, Finished::How::unattempted);
  EXPECT_EQ(finished(3).back().not_before, Millis(60'000));
}

TEST_F(Execution, StopWaitsForWhatIsInFlight) {
  make();
  start(job());
  const auto begun = stage.next();
  std::thread stopping([&] { EXPECT_TRUE(executor->stop(Millis(60'000))); });
  begun.completions->complete(begun.call, kAccepted);
  begun.completions->flush();
  stopping.join();
  EXPECT_EQ(finished(1)[0].outcome, kAccepted);
}

TEST_F(Execution, StopCancelsAndThenDecidesWhatDoesNotEnd) {
  auto settings = kPatient;
  settings.grace = Millis(10);
  make(settings);
  start(job());
  const auto begun = stage.next();
  stage.hold = true;
  start(job());
  EXPECT_TRUE(executor->stop(Millis(0)));
  EXPECT_TRUE(stage.wait_cancelled(begun.call));
  const auto back = finished(2);
  for (const auto& one : back) {
    const bool was_sent = one.job.delivery == DeliveryId{1};
    EXPECT_EQ(one.how, was_sent ? Finished::How::attempted : Finished::How::unattempted);
    EXPECT_EQ(one.outcome ? one.outcome->reach : Reach::not_sent, was_sent ? Reach::maybe_sent : Reach::not_sent);
  }
}

TEST_F(Execution, AfterStopNothingIsSent) {
  make();
  EXPECT_EQ(executor->state("type"), Executor::State::ready);
  EXPECT_TRUE(executor->stop(Millis(0)));
  start(job());
  EXPECT_EQ(finished(1)[0].how, Finished::How::unattempted);
  EXPECT_EQ(executor->state("type"), Executor::State::missing);
}

TEST_F(Execution, ASenderThatDoesNotJoinMakesStopSaySo) {
  // In a process of its own: what does not join is leaked on purpose.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        make();
        stage.joins = executor->state("type") != Executor::State::ready;
        std::_Exit(executor->stop(Millis(0)) ? 1 : 42);
      },
      ::testing::ExitedWithCode(42), "");
}

// I3
TEST_F(Execution, ARenewedTypeGivesNewWorkToANewSenderAndTheOldOneFinishesWhatItHas) {
  make();
  start(job());
  const auto old = stage.next();
  executor->renew("type");
  EXPECT_TRUE(executor->wait_renewed("type", Millis(60'000)));
  start(job());
  const auto fresh = stage.next();
  EXPECT_NE(fresh.completions, old.completions) << "another sender";
  EXPECT_EQ(stage.made, 2);
  EXPECT_EQ(executor->retiring("type"), 1u);
  old.completions->complete(old.call, kAccepted);
  old.completions->flush();
  EXPECT_EQ(finished(1)[0].how, Finished::How::attempted);
  EXPECT_TRUE(testing::eventually([&] { return executor->retiring("type") == 0; }));
  fresh.completions->complete(fresh.call, kAccepted);
  fresh.completions->flush();
  finished(2);
}

// I3
TEST_F(Execution, WhatIsInUseGoesOnUntilThereIsANewSender) {
  make();
  start(job());
  const auto old = stage.next();
  stage.refusals = 1;  // of the renewal itself
  executor->renew("type");
  start(job());
  EXPECT_EQ(stage.next().completions, old.completions);
  EXPECT_EQ(executor->state("type"), Executor::State::ready);
  EXPECT_FALSE(executor->wait_renewed("type", Millis(0)));
}

}  // namespace
}  // namespace waybill
