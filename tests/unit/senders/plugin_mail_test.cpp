// Plugins that submit mail, in order and not, through the host that runs them.  H4 M8
#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_relay.h"

namespace waybill {
namespace {

using testing::PluginWorld;
using testing::RelayScript;
using testing::ScriptedRelay;

class PluginMail : public ::testing::Test {
 protected:
  Job job(const char* target, const std::string& relay) { return world.job("mailer", target, relay); }
  Outcome outcome_of(const char* target, const std::string& relay = "smtp://127.0.0.1:1") {
    const auto finished = world.run(job(target, relay));
    EXPECT_TRUE(finished.outcome) << target;
    return finished.outcome.value_or(Outcome{});
  }
  PluginWorld world{{"mailer"}, PluginWorld::kPatient, {{"key", {Secret("hunter2")}}}};
};

TEST_F(PluginMail, AMessageIsTakenAndEachRecipientIsAnsweredFor) {
  ScriptedRelay relay({.says = {{"RCPT TO:<second", "550 5.1.1 nobody"}}});
  const auto outcome = outcome_of("good", relay.url());
  EXPECT_EQ(outcome.verdict, Verdict::accepted);
  EXPECT_EQ(outcome.reach, Reach::answered);
  EXPECT_EQ(outcome.code, 250);
  EXPECT_EQ(outcome.detail, "2.0.0 queued");
  EXPECT_EQ(outcome.result, "[5,250,550]");
  EXPECT_EQ(relay.messages(), std::vector<std::string>{"payload\r\n"});
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
  EXPECT_TRUE(relay.heard("MAIL FROM:<sender@example.org>"));
}

TEST_F(PluginMail, ARefusalAndAFailureAreToldApart) {
  ScriptedRelay relay({.says = {{"MAIL", "451 4.7.1 later"}}});
  const auto refused = outcome_of("good", relay.url());
  EXPECT_EQ(refused.reason, "refused");
  EXPECT_EQ(refused.code, 451);
  EXPECT_EQ(refused.detail, "4.7.1 later");
  EXPECT_EQ(refused.result, "[3,0,0]");
  ScriptedRelay broken({.says = {{".", RelayScript::kDrop}}});
  const auto failed = outcome_of("good", broken.url());
  EXPECT_EQ(failed.reason, "network");
  EXPECT_EQ(failed.code, WB_NET_BROKEN);
  EXPECT_EQ(failed.reach, Reach::maybe_sent);
  EXPECT_EQ(failed.result, "[0,250,250]");
}

TEST_F(PluginMail, ATenantsRelayMustNotBeLocal) {  // N7
  ScriptedRelay relay;
  EXPECT_EQ(outcome_of("good", relay.url()).verdict, Verdict::accepted);
  const auto outcome = world.run(testing::of_channel(job("good", relay.url()))).outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.reason, "address_not_allowed");
  EXPECT_EQ(outcome.reach, Reach::not_sent);
  EXPECT_EQ(relay.connections(), 1);
  EXPECT_TRUE(world.log.contains("egress.refused action_type=mailer"));
}

TEST_F(PluginMail, ThePluginNamesASecretThatOnlyTheRelaySees) {
  ScriptedRelay relay({.says = {{"AUTH", "535 5.7.8 wrong"}}, .offers = {"AUTH PLAIN"}});
  world.transport = testing::insecure;
  const auto outcome = outcome_of("login", relay.url());
  EXPECT_TRUE(relay.heard("AUTH PLAIN |me|hunter2"));
  EXPECT_EQ(outcome.code, 535);
  EXPECT_EQ(outcome.detail, "5.7.8 wrong");
  for (const auto* secret : {"hunter2", "AG1lAGh1bnRlcjI="}) EXPECT_FALSE(world.log.contains(secret));
}

TEST_F(PluginMail, ARelayThatStallsIsToldBeforeTheHostMustDecide) {
  ScriptedRelay relay({.says = {{".", RelayScript::kSilence}}});
  PluginWorld hurried{{"mailer"}, {.attempt_timeout = Millis(1000), .grace = Millis(30'000), .stuck_after = Millis(30'000)}};
  const auto finished = hurried.run(hurried.job("mailer", "good", relay.url()));
  EXPECT_EQ(finished.outcome->code, WB_NET_TIMEOUT);
  EXPECT_EQ(finished.outcome->reach, Reach::maybe_sent);
}

TEST_F(PluginMail, ManyJobsShareAFewKeptConnections) {
  ScriptedRelay relay;
  std::vector<Job> jobs;
  constexpr std::int64_t kJobs = 500;
  for (std::int64_t i = 0; i < kJobs; ++i) jobs.push_back(job("good", relay.url()));
  world.executor->execute(std::move(jobs));
  for (std::int64_t id = 1; id <= kJobs; ++id) ASSERT_EQ(world.wait(id).outcome->verdict, Verdict::accepted);
  EXPECT_EQ(relay.messages().size(), static_cast<std::size_t>(kJobs));
  EXPECT_LT(relay.connections(), 40);
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST_F(PluginMail, StopCancelsWhatStallsAndItStillComesBackOnce) {
  ScriptedRelay relay({.says = {{"DATA", RelayScript::kSilence}}});
  world.start(job("good", relay.url()));
  ASSERT_TRUE(relay.wait_for("DATA"));
  EXPECT_TRUE(world.executor->stop(Millis(0)));
  const auto outcome = world.wait(1).outcome;
  EXPECT_EQ(outcome->code, WB_NET_CANCELLED);
  EXPECT_EQ(outcome->reach, Reach::not_sent);
}

TEST_F(PluginMail, AnAbortedSubmissionIsStillTold) {
  ScriptedRelay relay;
  EXPECT_EQ(outcome_of("abort", relay.url()).code, WB_NET_CANCELLED);
  EXPECT_TRUE(relay.messages().empty());
}

TEST_F(PluginMail, WhatItsCallLeavesBehindIsCancelledAndTold) {
  ScriptedRelay relay({.says = {{"MAIL", RelayScript::kSilence}}});
  EXPECT_EQ(outcome_of("left_open", relay.url()).verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.wait_for("text=mail_cancelled"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST_F(PluginMail, ASubmissionForAnEndedCallIsCancelledAndItsDoneStillComes) {
  ScriptedRelay relay;
  EXPECT_EQ(outcome_of("after_end", relay.url()).verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.wait_for("text=mail_cancelled"));
  EXPECT_TRUE(world.log.contains("how=submit_without_call"));
  EXPECT_EQ(relay.connections(), 0);
}

TEST_F(PluginMail, AMessageThatCannotBeIsRefusedAndItsDoneStillComes) {
  for (const auto* what : {"null", "short", "unknown_tls", "no_recipients", "endless"}) {
    const auto outcome = outcome_of(what);
    EXPECT_EQ(outcome.code, WB_NET_REFUSED) << what;
    EXPECT_EQ(outcome.reach, Reach::not_sent) << what;
    EXPECT_FALSE(outcome.detail.empty()) << what;
  }
  EXPECT_EQ(outcome_of("unknown_tls").detail, "the message asks for an unknown kind of TLS");
}

TEST_F(PluginMail, FromAWrongThreadOrWithoutDoneNothingIsDoneButALogLine) {
  ScriptedRelay relay;
  EXPECT_EQ(outcome_of("off_strand", relay.url()).verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("how=submit_off_strand"));
  EXPECT_TRUE(world.log.contains("how=abort_off_strand"));
  EXPECT_EQ(outcome_of("without_done", relay.url()).verdict, Verdict::accepted);
  EXPECT_TRUE(world.log.contains("how=submit_without_done"));
  EXPECT_EQ(relay.messages().size(), 2u);
}

}  // namespace
}  // namespace waybill
