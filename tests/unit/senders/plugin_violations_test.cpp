// A plugin that breaks the rules costs one attempt, never the host, and never another plugin's work.  H5 M8
#include <gtest/gtest.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::PluginWorld;
using testing::ScriptedServer;

using testing::plugins_run_apart;
TEST(APluginThatHangsInCreate, IsMissingAndHoldsUpNobody) {
  PluginWorld world{{"hangs", "good"}};
  EXPECT_EQ(world.executor->state("hangs_in_create"), Executor::State::missing);
  EXPECT_GT(world.executor->concurrency("good"), 0u);
  EXPECT_EQ(world.run("hangs", "good").outcome.value_or(Outcome{}).verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("did not come back"));
  EXPECT_TRUE(world.log.contains("how=hangs_in_create"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

class Naughty : public ::testing::Test {
 protected:
  Outcome outcome_of(const std::string& target) {
    const auto finished = world.run("naughty", target);
    EXPECT_EQ(finished.how, Finished::How::attempted);
    return finished.outcome.value_or(Outcome{});
  }
  // Whatever happened, the same sender still works.
  void TearDown() override {
    EXPECT_EQ(outcome_of("good").verdict, Verdict::accepted);
    EXPECT_TRUE(world.executor->stop(Millis(10'000)));
  }
  PluginWorld world{{"naughty", "good"}};
};

TEST_F(Naughty, AnExceptionFromSendIsATransientOutcome) {
  for (const auto* what : {"throw_std", "throw_int", "timer_throws"}) {
    const auto outcome = outcome_of(what);
    EXPECT_EQ(outcome.verdict, Verdict::transient) << what;
    EXPECT_EQ(outcome.reach, Reach::maybe_sent) << what;
    EXPECT_EQ(outcome.reason, "plugin_error") << what;
  }
  EXPECT_TRUE(world.log.contains("how=threw"));
}

// T30
TEST(APluginWrittenInCpp, ThatThrowsIsLoggedAndCounted) {
  PluginWorld world{{"throws_in_cpp"}};
  const auto outcome = world.run("throws_in_cpp", "x").outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.verdict, Verdict::transient);
  EXPECT_EQ(outcome.reason, "plugin_error");
  EXPECT_TRUE(world.log.wait_for("how=threw"));
  EXPECT_TRUE(world.log.contains("from C++"));
  EXPECT_NE(world.metrics.text().find(R"(how="threw")"), std::string::npos);
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST_F(Naughty, AnExceptionAfterTheEndChangesNothing) { EXPECT_EQ(outcome_of("complete_then_throw").verdict, Verdict::accepted); }

TEST_F(Naughty, TheFirstCompletionCountsAndTheSecondIsNoted) {
  EXPECT_EQ(outcome_of("twice").verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.wait_for("how=completed_twice_or_late"));
  EXPECT_NE(world.metrics.text().find("completed_twice_or_late"), std::string::npos);
}

TEST_F(Naughty, ACallThatWasNeverMadeCannotBeCompleted) {
  EXPECT_EQ(outcome_of("invented_call").verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("how=completed_twice_or_late"));
}

TEST_F(Naughty, ACompletionFromAnotherThreadCounts) { EXPECT_EQ(outcome_of("other_thread").verdict, Verdict::accepted); }

TEST_F(Naughty, UnusableOutcomesAreTransient) {
  for (const auto* what : {"null_outcome", "short_outcome"}) EXPECT_EQ(outcome_of(what).reason, "invalid_outcome") << what;
  const auto garbage = outcome_of("garbage_enums");
  EXPECT_EQ(garbage.verdict, Verdict::transient);
  EXPECT_EQ(garbage.reach, Reach::maybe_sent);
  EXPECT_EQ(garbage.scope, Scope::this_job);
  EXPECT_EQ(garbage.retry_after, std::nullopt);
  const auto undeclared = outcome_of("undeclared_reason");
  EXPECT_EQ(undeclared.verdict, Verdict::transient);
  EXPECT_EQ(undeclared.reason, "undeclared_reason");
  for (const auto* how : {"how=invalid_outcome", "how=invalid_verdict", "how=undeclared_reason"})
    EXPECT_TRUE(world.log.wait_for(how)) << how;
}

TEST_F(Naughty, TextsAreCleanedAndCut) {
  EXPECT_EQ(outcome_of("non_utf8").reason, "a\xEF\xBF\xBD z");
  const auto huge = outcome_of("huge_reason");
  EXPECT_EQ(huge.reason, std::string(64, 'r'));
  EXPECT_EQ(huge.detail.size(), 1000u);
  EXPECT_EQ(huge.provider_ref.size(), 255u);
  EXPECT_EQ(huge.result, "");
  EXPECT_EQ(outcome_of("null_pointers").verdict, Verdict::accepted);
  EXPECT_EQ(outcome_of("log_garbage").verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("text=text "));
}

TEST_F(Naughty, AFetchThatCannotBeIsRefusedAndItsDoneStillComes) {
  for (const auto* what : {"fetch_garbage", "fetch_null"}) {
    const auto outcome = outcome_of(what);
    EXPECT_EQ(outcome.code, 1) << what;  // WB_NET_REFUSED
    EXPECT_EQ(outcome.reach, Reach::not_sent) << what;
  }
}

TEST_F(Naughty, AFetchForAnEndedCallIsCancelledAndItsDoneStillComes) {
  EXPECT_EQ(outcome_of("fetch_after_end").verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.wait_for("text=fetch_cancelled"));
  EXPECT_TRUE(world.log.contains("how=fetch_without_call"));
}

TEST_F(Naughty, AFetchThatItsCallLeavesBehindIsCancelled) {
  ScriptedServer gateway([](Connection& connection) { connection.hang(); });
  EXPECT_EQ(world.run(world.job("naughty", "fetch_left_open", gateway.url())).outcome->verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.wait_for("text=fetch_cancelled"));
}

TEST_F(Naughty, ServicesFromAWrongThreadDoNothingButALogLine) {
  EXPECT_EQ(outcome_of("fetch_off_strand").verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("how=fetch_off_strand"));
  EXPECT_TRUE(world.log.contains("how=timer_off_strand"));
}

TEST_F(Naughty, ATimerDiesWithItsCall) {
  EXPECT_EQ(outcome_of("timer_after_end").verdict, Verdict::accepted);
  EXPECT_EQ(outcome_of("timer_left_open").verdict, Verdict::accepted);
  EXPECT_EQ(outcome_of("timer_throws").reason, "plugin_error");  // a later timer has fired: the earlier would have too
  EXPECT_FALSE(world.log.contains("text=timer_fired"));
}

TEST(Silence, ACallPastItsDeadlineIsCancelledAndMayStillBeCompleted) {
  PluginWorld world{{"naughty"}, {.attempt_timeout = Millis(300), .grace = Millis(60'000), .stuck_after = Millis(60'000)}};
  EXPECT_EQ(world.run("naughty", "never").outcome->verdict, Verdict::accepted);  // its cancel completes, twice
  EXPECT_TRUE(world.log.wait_for("how=completed_twice_or_late"));
}

TEST(Silence, ACallThatStaysSilentIsDecidedByTheHost) {
  PluginWorld world{{"naughty"}, {.attempt_timeout = Millis(300), .grace = Millis(20), .stuck_after = Millis(60'000)}};
  const auto finished = world.run("naughty_deaf", "never");
  EXPECT_EQ(finished.outcome->verdict, Verdict::transient);
  // Of a plugin in a process the host sees that nothing left.
  EXPECT_EQ(finished.outcome->reach, plugins_run_apart() ? Reach::not_sent : Reach::maybe_sent);
  EXPECT_EQ(finished.outcome->reason, "plugin_silent");
  EXPECT_TRUE(world.log.wait_for("how=silent"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

// These leave threads behind inside a plugin for good, so each has a process of its own.
class Hanging : public ::testing::Test {
 protected:
  inline static const ExecutorSettings kHasty{
      .attempt_timeout = Millis(500), .grace = Millis(50), .stuck_after = Millis(50), .hangs = {.after = 2}};
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  template <class Body>
  static void in_own_process(Body body) {
    EXPECT_EXIT(
        {
          body();
          std::_Exit(::testing::Test::HasFailure() ? 1 : 42);
        },
        ::testing::ExitedWithCode(42), "");
  }
};

TEST_F(Hanging, ASenderThatHangsIsGivenUpAndTheNextOneGoesOn) {
  in_own_process([] {
    PluginWorld world{{"hangs"}, kHasty};
    const auto finished = world.run("hangs", "x");
    EXPECT_EQ(finished.how, Finished::How::hung);
    EXPECT_TRUE(world.log.wait_for("how=stuck"));
    EXPECT_EQ(world.run("hangs", "good").outcome->verdict, Verdict::accepted);
    EXPECT_EQ(world.executor->state("hangs"), Executor::State::ready);
    EXPECT_FALSE(world.executor->stop(Millis(0)));
  });
}

TEST_F(Hanging, JobsQueuedBehindAHangingOneWereNeverSentAndComeBackUnattempted) {
  in_own_process([] {
    PluginWorld world{{"hangs"}, kHasty};
    std::vector<Job> jobs;
    jobs.push_back(world.job("hangs", "x"));
    for (int i = 0; i < 5; ++i) jobs.push_back(world.job("hangs", "good"));
    world.executor->execute(std::move(jobs));
    EXPECT_EQ(world.wait(1).how, Finished::How::hung);
    for (int id = 2; id <= 6; ++id) EXPECT_EQ(world.wait(id).how, Finished::How::unattempted) << id;
  });
}

TEST_F(Hanging, AnActionTypeThatHangsTooOftenPauses) {
  in_own_process([] {
    PluginWorld world{{"hangs"}, kHasty};
    for (int i = 0; i < 2; ++i) EXPECT_EQ(world.run("hangs", "x").how, Finished::How::hung);
    EXPECT_TRUE(world.log.wait_for("paused_for_s=30"));
    EXPECT_EQ(world.executor->state("hangs"), Executor::State::stuck);
    const auto finished = world.run("hangs", "good");
    EXPECT_EQ(finished.how, Finished::How::unattempted);
    EXPECT_EQ(finished.not_before, Millis(60'000));
  });
}

TEST_F(Hanging, AGoodPluginGoesOnDeliveringNextToHangingOnes) {
  in_own_process([] {
    ScriptedServer gateway([](Connection& connection) {
      while (!connection.receive().empty()) connection.answer(200, "{}");
    });
    PluginWorld world{{"hangs", "naughty", "good"}, {.attempt_timeout = Millis(60'000), .grace = Millis(500)}};
    world.start(world.job("hangs", "x"));
    world.start(world.job("hangs_blocking", "x"));
    world.start(world.job("naughty_deaf", "never"));
    for (int i = 0; i < 200; ++i) ASSERT_EQ(world.run(world.job("good", "x", gateway.url())).outcome->verdict, Verdict::accepted);
    EXPECT_EQ(world.run("hangs_blocking", "good").outcome->verdict, Verdict::accepted);  // the other worker
    EXPECT_EQ(world.finished_count(), 201u);                                             // the three that hang hold up nobody
  });
}

TEST_F(Hanging, TheProcessCanEndThoughAPluginNeverReturns) {
  in_own_process([] {
    PluginWorld world{{"hangs"}, kHasty};
    world.start(world.job("hangs_blocking", "x"));
    EXPECT_TRUE(world.log.wait_for("text=hanging"));
    EXPECT_FALSE(world.executor->stop(Millis(0)));
    EXPECT_EQ(world.finished_count(), 1u);
  });
}

}  // namespace
}  // namespace waybill
