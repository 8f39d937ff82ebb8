// One sender's table of open calls: what has not begun can be taken back from it, what has begun cannot.  E7 M17
#include "execute/open_calls.h"

#include <gtest/gtest.h>

#include "execute/sender_pool.h"
#include "support/call_builders.h"
#include "unit/execute/scripted_sender.h"

namespace waybill {
namespace {

using testing::ManualClock;
using testing::SilentLog;
using testing::Stage;

class OpenCallsTest : public ::testing::Test {
 protected:
  OpenCalls::Start call(std::uint64_t id) {
    Job job;
    job.delivery = {static_cast<std::int64_t>(id)};
    job.contract = std::make_shared<const Contract>(Contract{.action_type = "type"});
    job.client_ref = "order " + std::to_string(id);
    job.action_order = static_cast<int>(id);
    job.claimed_mono = clock.now();
    completions->took(1);
    return {{id}, std::make_shared<const OpenJob>(std::move(job)), Millis(60'000)};
  }
  void SetUp() override {
    completions->connect([this](std::vector<Finished> batch) {
      for (auto& one : batch) finished.push_back(std::move(one));
    });
  }
  // The first call begins, the second does not.
  template <class CallsOrPool>
  void start_one_and_hold_one(CallsOrPool& target) {
    std::vector<OpenCalls::Start> begins{call(1)}, waits{call(2)};
    static_cast<void>(target.start(begins));
    begun = stage.next();
    stage.hold = true;
    static_cast<void>(target.start(waits));
  }
  void expect_the_second_back_and_the_first_cancelled() {
    ASSERT_EQ(finished.size(), 1u) << "it goes back to the queue at once, not when the first has ended";
    EXPECT_EQ(finished[0].job.delivery, DeliveryId{2});
    EXPECT_EQ(finished[0].job.client_ref, "order 2") << "the alert of a dead letter names it";
    EXPECT_EQ(finished[0].job.action_order, 2);
    EXPECT_EQ(finished[0].how, Finished::How::unattempted);
    EXPECT_FALSE(finished[0].not_before) << "another host may begin it at once";
    EXPECT_TRUE(stage.was_cancelled({1}));
    EXPECT_FALSE(stage.was_cancelled({2}));
  }

  Stage stage;
  SilentLog log;
  Metrics metrics;
  ManualClock clock;
  std::vector<Finished> finished;
  std::shared_ptr<CompletionQueue> completions = std::make_shared<CompletionQueue>(clock, log, metrics);
  const CallLimits limits{Millis(60'000), Millis(60'000), Millis(60'000)};
  Stage::Begun begun;
};

TEST_F(OpenCallsTest, CancellingTakesBackWhatHasNotBegun) {
  OpenCalls calls("type", limits, completions);
  calls.attach(*stage.make("type", calls));
  start_one_and_hold_one(calls);
  calls.cancel_all();
  expect_the_second_back_and_the_first_cancelled();
  EXPECT_EQ(calls.open(), 1u);
  calls.decide_all("host_stopped");
}

TEST_F(OpenCallsTest, CancellingAPoolTakesBackWhatHasNotBegunAnywhere) {
  SenderPool pool("type", stage, limits, {}, completions, nullptr, log);
  start_one_and_hold_one(pool);
  pool.cancel_all();
  expect_the_second_back_and_the_first_cancelled();
  EXPECT_TRUE(pool.join(Millis(60'000)));
}

// A strand that goes into the plugin for call 1 and does not come back, beside other calls. Attempts take 60 s, the grace 1 s, a
// stay inside is too long after 5 s.
class HangingSender : public OpenCallsTest {
 protected:
  void begin(int count) {
    calls.attach(*stage.make("type", calls));
    std::vector<OpenCalls::Start> all;
    for (int i = 1; i <= count; ++i) all.push_back(call(static_cast<std::uint64_t>(i)));
    calls.start(std::move(all));
    for (int i = 0; i < count; ++i) jobs.push_back(stage.next().job);
  }
  void enter(std::uint64_t id) {
    stage.inside = clock.now().time_since_epoch().count();
    stage.inside_call = id;
  }
  std::optional<Finished::How> how(std::int64_t delivery) const {
    for (const auto& one : finished)
      if (one.job.delivery.value == delivery) return one.how;
    return std::nullopt;
  }

  OpenCalls calls{"type", {Millis(60'000), Millis(1'000), Millis(5'000)}, completions};
  std::vector<std::shared_ptr<const OpenJob>> jobs;
};

// T12
TEST_F(HangingSender, ChargesTheCallItHangsInAndGivesBackWhatNothingLeftOf) {
  begin(4);
  jobs[1]->reached = Reached::host;
  jobs[2]->reached = Reached::network;
  stage.hold = true;
  calls.start({call(5)});
  const auto culprit = calls.give_up({1});
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->delivery, DeliveryId{1});
  EXPECT_EQ(stage.given_up, 1) << "from then on nothing leaves";
  ASSERT_EQ(finished.size(), 5u);
  EXPECT_EQ(how(1), Finished::How::hung);
  EXPECT_EQ(how(2), Finished::How::unattempted) << "the host has it, and nothing of it left";
  EXPECT_EQ(how(3), Finished::How::interrupted) << "something of it left";
  EXPECT_EQ(how(4), Finished::How::interrupted) << "nobody knows what the plugin did with it";
  EXPECT_EQ(how(5), Finished::How::unattempted) << "it had not begun";
  EXPECT_FALSE(calls.complete({3}, Outcome{})) << "the thread came back too late";
}

// T13
TEST_F(HangingSender, WhatEndsTellsWhetherAllOfItWentByAKeptConnection) {
  begin(3);
  jobs[0]->reached = Reached::network;
  jobs[1]->reached = Reached::connected;
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_TRUE(calls.complete({id}, Outcome{}));
  calls.flush();
  ASSERT_EQ(finished.size(), 3u);
  EXPECT_TRUE(finished[0].by_kept_connection);
  EXPECT_FALSE(finished[1].by_kept_connection);
  EXPECT_FALSE(finished[2].by_kept_connection) << "nobody knows how the plugin did it";
}

// T12
TEST_F(HangingSender, NobodyIsSilentWhileTheStrandIsInsideOneCall) {
  begin(2);
  clock.pass(Millis(59'000));
  enter(1);
  clock.pass(Millis(1'500));
  EXPECT_FALSE(calls.look().hangs_in);  // both are past their deadline
  EXPECT_TRUE(stage.was_cancelled({2}));
  clock.pass(Millis(1'500));
  EXPECT_FALSE(calls.look().hangs_in);
  EXPECT_TRUE(finished.empty()) << "the grace is over, but the strand could not tell the plugin of the cancellation";
  stage.inside = 0;
  clock.pass(Millis(500));
  calls.look();
  EXPECT_TRUE(finished.empty()) << "it came back, and has its grace";
  clock.pass(Millis(1'000));
  calls.look();
  ASSERT_EQ(finished.size(), 2u) << "and is silent";
  EXPECT_EQ(finished[0].outcome->reason, "plugin_silent");
}

// T12
TEST_F(HangingSender, AStrandThatIsAlwaysInsideSomethingKeepsNobodyForEver) {
  begin(2);
  for (int i = 0; i < 2'000 && finished.size() < 2; ++i) {
    enter(7);  // short stays, each found at a look
    clock.pass(Millis(100));
    EXPECT_FALSE(calls.look().hangs_in);
  }
  EXPECT_EQ(finished.size(), 2u);
}

// T12
TEST_F(HangingSender, AHangIsSeenOnceTheCallIsOverAndStandsAtTwoLooks) {
  begin(1);
  enter(1);
  clock.pass(Millis(59'000));
  EXPECT_FALSE(calls.look().hangs_in) << "a slow call that is within its time";
  clock.pass(Millis(3'000));
  EXPECT_FALSE(calls.look().hangs_in) << "the first look that finds it too long";
  clock.pass(Millis(1'000));
  EXPECT_EQ(calls.look().hangs_in, CallId{1});
}

// T12
TEST_F(HangingSender, AHostThatWasStoppedAndContinuedIsNoHang) {
  begin(1);
  enter(1);
  clock.pass(Millis(3'600'000));
  EXPECT_FALSE(calls.look().hangs_in) << "the strand was stopped as well";
  stage.inside = 0;
  clock.pass(Millis(1'000));
  EXPECT_FALSE(calls.look().hangs_in);
}

}  // namespace
}  // namespace waybill
