// From what happened to what is written: every way in which a job can come back.  M6 M7 M11 M17
#include "settle/settlement.h"

#include <gtest/gtest.h>

#include "unit/settle/jobs.h"

namespace waybill {
namespace {

using testing::accepted;
using testing::contract_of;
using testing::failed;
using testing::finished_with;
using testing::kCreated;
using testing::rejected;

Settlement settled(const Finished& finished) { return settlement_of(finished, {}, 0.5, "box:1"); }

TEST(Settlement, AnAcceptanceEndsTheDeliveryAndTheSubmission) {  // M6
  const auto finished = finished_with(accepted());
  const auto s = settled(finished);
  EXPECT_EQ(s.delivery, finished.job.delivery);
  EXPECT_EQ(s.token, finished.job.token);
  EXPECT_EQ(s.status, Status::accepted);
  EXPECT_EQ(s.reason, "");
  EXPECT_EQ(s.result, R"({"n":1})");
  EXPECT_EQ(s.ended, finished.finished_at);
  EXPECT_EQ(s.submission_state, "accepted");
  EXPECT_EQ(s.from_state, "pending");
  EXPECT_EQ(s.action, "intent_accepted");
  EXPECT_EQ(s.trigger, "accept");
  EXPECT_EQ(s.actor, "box:1");
  EXPECT_EQ(s.metadata, R"({"attempts":1})");
  EXPECT_EQ(s.history.attempt_count, 1u);
}

TEST(Settlement, ARejectionKeepsItsReasonAndNoResult) {  // M6
  const auto s = settled(finished_with(rejected("invalid_request")));
  EXPECT_EQ(s.status, Status::rejected);
  EXPECT_EQ(s.reason, "invalid_request");
  EXPECT_EQ(s.result, "");
  EXPECT_EQ(s.submission_state, "rejected");
  EXPECT_EQ(s.action, "intent_rejected");
  EXPECT_EQ(s.metadata, R"({"attempts":1,"reason":"invalid_request"})");
  EXPECT_EQ(s.trigger, "reject");
}

TEST(Settlement, OfAFormsActionLeavesItsSubmissionToTheWhole) {  // F6 F10 F13
  const auto of_form = [](const Outcome& outcome) {
    auto finished = finished_with(outcome);
    Contract contract = *finished.job.contract;
    contract.form_id = "contact";
    finished.job.contract = std::make_shared<const Contract>(contract);
    finished.job.kind = "form";
    finished.job.client_ref = "order 1";
    finished.job.action_order = 2;
    return settled(finished);
  };
  const auto done = of_form(accepted());
  EXPECT_TRUE(done.of_form);
  EXPECT_EQ(done.status, Status::accepted);
  EXPECT_EQ(done.submission_state + done.from_state, "");
  EXPECT_EQ(done.action, "sms_success");
  EXPECT_FALSE(done.alert);
  EXPECT_EQ(done.metadata, R"({"attempts":1})");
  EXPECT_FALSE(done.dead_letter);
  const auto dead = of_form(rejected("invalid_request"));
  EXPECT_EQ(dead.action, "sms_failure");
  EXPECT_TRUE(dead.dead_letter);
  ASSERT_TRUE(dead.alert);
  EXPECT_EQ(dead.alert->about, "contact/2:invalid_request");
  EXPECT_EQ(dead.alert->message, "form order 1: contact, action 2 (sms) ended as invalid_request");
  EXPECT_EQ(of_form(failed()).action, "");
  EXPECT_FALSE(of_form(failed()).dead_letter) << "it is tried again";
  EXPECT_FALSE(settled(finished_with(rejected("invalid_request"))).dead_letter) << "an intent's end is its client's";
  EXPECT_FALSE(settled(finished_with(accepted())).of_form);
}

TEST(Settlement, ADeferredActionIsNotAudited) {  // F6
  EXPECT_EQ(action_audit(Status::exhausted, "letter"), "letter_failure");
  EXPECT_EQ(action_audit(Status::deferred, "letter"), "");
}

TEST(Settlement, WhatAnAttemptGotDoneIsProgressForTheNextAndAResultAtTheEnd) {  // F6 F7
  auto outcome = failed();
  outcome.result = R"({"accepted":["a@b"]})";
  EXPECT_EQ(settled(finished_with(outcome)).progress, outcome.result);
  EXPECT_EQ(settled(finished_with(outcome)).result, "");
  EXPECT_EQ(settled(finished_with(outcome, Policy::one_shot)).result, outcome.result);
  outcome = rejected("invalid_request");
  outcome.result = R"({"refused":["c@d"]})";
  EXPECT_EQ(settled(finished_with(outcome)).result, outcome.result);
  EXPECT_EQ(settled(finished_with(outcome)).progress, "");
}

TEST(Settlement, AnExhaustionNamesThePolicy) {  // M6
  const auto s = settled(finished_with(failed(), Policy::one_shot));
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "one_shot");
  EXPECT_EQ(s.submission_state, "exhausted");
  EXPECT_EQ(s.action, "intent_exhausted");
  EXPECT_EQ(s.trigger, "exhaust");
}

TEST(Settlement, ARetryMovesNothingButTheSchedule) {  // M6 M9
  const auto finished = finished_with(failed());
  const auto s = settled(finished);
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.due, finished.finished_at + Seconds(5));
  EXPECT_EQ(s.reason, "");
  EXPECT_EQ(s.submission_state, "");
  EXPECT_EQ(s.action, "");  // no audit event: the submission did not move
  EXPECT_EQ(s.trigger, "retry");
  EXPECT_EQ(s.history.attempt_count, 1u);
}

TEST(Settlement, TheAttemptIsWrittenAsItWas) {  // M3 M11
  struct Case {
    Outcome outcome;
    AttemptRecord record;
  };
  const auto finished = finished_with(accepted(), Policy::max_attempts, 2);
  const Case cases[] = {
      {accepted(), {.outcome = "accepted", .code = 200, .provider_ref = "gw-1"}},
      {rejected("invalid_request"),
       {.outcome = "rejected", .reason = "invalid_request", .error = "as the gateway says", .code = 200}},
      {failed(), {.outcome = "error", .error = "http_503: busy", .code = 503}},
      {{.verdict = Verdict::transient, .reason = "timeout"}, {.outcome = "error", .error = "timeout"}},
      {{.verdict = Verdict::deferred, .reason = "no_credentials", .detail = "set the secret"},
       {.outcome = "deferred", .reason = "no_credentials", .error = "set the secret"}},
  };
  for (const auto& [outcome, wanted] : cases) {
    const auto record = settled(finished_with(outcome, Policy::max_attempts, 2)).attempt;
    ASSERT_TRUE(record);
    EXPECT_EQ(record->number, 2u);
    EXPECT_EQ(record->started, finished.started_at);
    EXPECT_EQ(record->finished, finished.finished_at);
    EXPECT_EQ(record->outcome, wanted.outcome);
    EXPECT_EQ(record->reason, wanted.reason) << wanted.outcome;
    EXPECT_EQ(record->error, wanted.error) << wanted.outcome;
    EXPECT_EQ(record->code, wanted.code) << wanted.outcome;
    EXPECT_EQ(record->provider_ref, wanted.provider_ref) << wanted.outcome;
  }
}

TEST(Settlement, LostAttemptsHaveNumbersButDoNotCount) {             // M11 M17
  auto finished = finished_with(failed(), Policy::max_attempts, 4);  // numbers 1 to 3 are taken, two of them lost
  finished.job.history.lease_lost = 2;
  finished.job.history.uncounted = 2;
  auto s = settled(finished);
  EXPECT_EQ(s.status, Status::due) << "the second attempt that counts, of three";
  EXPECT_EQ(s.history.attempt_count, 4u);
  EXPECT_EQ(s.history.lease_lost, 0u) << "it has lived through an attempt";  // E1
  finished.job.history.attempt_count = 4;
  s = settled(finished);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "max_attempts");
  EXPECT_EQ(s.history.attempt_count, 5u);
}

TEST(Settlement, AnAttemptThatAnOutageEndedIsOnRecordAndDoesNotCount) {  // E14
  auto outage = failed();
  outage.scope = Scope::whole_target;
  auto finished = finished_with(outage, Policy::max_attempts, 4);  // numbers 1 to 3 are taken, one of them did not count
  finished.job.history.uncounted = 1;
  const auto until = finished.finished_at + Seconds(9);
  const auto settled_in = [&](Millis length) {
    return settlement_of(finished, {}, 0.5, "box:1", Outage{finished.finished_at - length, until, Seconds(60)});
  };
  auto s = settled_in(Seconds(59));
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.due, until) << "not the usual wait";
  EXPECT_EQ(s.history.attempt_count, 4u);
  EXPECT_EQ(s.history.uncounted, 2u);
  EXPECT_EQ(s.attempt->number, 4u);
  EXPECT_FALSE(s.attempt->counts);
  s = settled_in(Seconds(60));
  EXPECT_EQ(s.status, Status::exhausted) << "an outage that does not end is wrong credentials: the third that counts, of three";
  EXPECT_EQ(s.reason, "max_attempts");
  EXPECT_EQ(s.history.uncounted, 1u);
  EXPECT_TRUE(s.attempt->counts);
}

TEST(Settlement, AnOutageNeitherRepeatsAOneShotNorPutsOffADeadline) {  // E14
  auto outage = failed();
  outage.scope = Scope::whole_target;
  const auto settled_by = [&](Policy policy, Millis cooldown) {
    const auto finished = finished_with(outage, policy);
    return settlement_of(finished, {}, 0.5, "box:1",
                         Outage{finished.finished_at, finished.finished_at + cooldown, std::chrono::hours(24)});
  };
  EXPECT_EQ(settled_by(Policy::one_shot, Seconds(1)).reason, "one_shot");
  EXPECT_EQ(settled_by(Policy::deadline, Seconds(58)).status, Status::due) << "a second and a half have passed";
  EXPECT_EQ(settled_by(Policy::deadline, Seconds(59)).reason, "deadline_exceeded");
}

TEST(Settlement, AReasonOfAnyTextIsQuotedInTheAudit) {  // E8
  auto finished = finished_with(Outcome{.verdict = Verdict::deferred, .reason = "say \"no\" \\ {\t\x01"});
  Contract contract = *finished.job.contract;
  contract.form_id = "contact";
  finished.job.contract = std::make_shared<const Contract>(contract);
  const auto s = settled(finished);
  EXPECT_EQ(s.status, Status::deferred);
  EXPECT_EQ(s.metadata, R"({"attempts":1,"reason":"say \"no\" \\ {\t\u0001"})");
}

TEST(Settlement, DoubtIsRememberedUntilTheEnd) {  // M17
  EXPECT_FALSE(settled(finished_with(failed(Reach::not_sent))).history.maybe_sent);
  EXPECT_TRUE(settled(finished_with(failed(Reach::maybe_sent))).history.maybe_sent);
  auto finished = finished_with(failed(Reach::not_sent), Policy::max_attempts, 2);
  finished.job.history.maybe_sent = true;
  EXPECT_TRUE(settled(finished).history.maybe_sent);
}

TEST(Settlement, ADuplicateAfterDoubtIsAcceptedAndItsRecordSaysWhatTheReceiverSaid) {  // M17
  auto finished = finished_with(rejected("duplicate_reference"), Policy::max_attempts, 2);
  finished.job.history.maybe_sent = true;
  const auto s = settled(finished);
  EXPECT_EQ(s.status, Status::accepted);
  EXPECT_EQ(s.submission_state, "accepted");
  EXPECT_EQ(s.attempt->outcome, "rejected");
  EXPECT_EQ(s.attempt->reason, "duplicate_reference");
}

TEST(Settlement, WhatIsGivenBackUnattemptedLeavesNoTrace) {  // M11
  auto finished = finished_with(std::nullopt, Policy::one_shot, 3);
  finished.job.history.lease_lost = 1;
  finished.job.history.maybe_sent = true;
  auto s = settled(finished);
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.due, finished.finished_at);
  EXPECT_EQ(s.history.attempt_count, 2u);
  EXPECT_EQ(s.history.lease_lost, 1u);
  EXPECT_TRUE(s.history.maybe_sent);
  EXPECT_FALSE(s.attempt);
  EXPECT_EQ(s.action, "");
  EXPECT_EQ(s.trigger, "release");
  finished.not_before = Millis(1500);
  EXPECT_EQ(settled(finished).due, finished.finished_at + Millis(1500));
}

TEST(Settlement, WhatExpiredBeforeItWasSentIsExhaustedWithoutAnAttempt) {  // M7
  auto finished = finished_with(std::nullopt, Policy::deadline, 2);
  finished.how = Finished::How::expired;
  auto own = finished_with(std::nullopt);
  own.how = Finished::How::expired;
  own.job.terms = terms_of({.not_before = {}, .expires = own.finished_at, .producer = {}});
  EXPECT_EQ(settled(own).reason, "expired");  // Q4
  const auto s = settled(finished);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "deadline_exceeded");
  EXPECT_EQ(s.ended, finished.finished_at);
  EXPECT_EQ(s.submission_state, "exhausted");
  EXPECT_EQ(s.action, "intent_exhausted");
  EXPECT_EQ(s.trigger, "exhaust");
  EXPECT_EQ(s.history.attempt_count, 1u);
  EXPECT_FALSE(s.attempt);
}

// T12
TEST(Settlement, WhatAPluginHungInIsASuspectAsAfterACrash) {
  auto finished = finished_with(std::nullopt, Policy::max_attempts, 3);
  finished.how = Finished::How::hung;
  finished.job.history.uncounted = 1;
  auto s = settled(finished);
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.history.lease_lost, 1u) << "tried alone from now on";
  EXPECT_EQ(s.due, finished.finished_at + suspect_delay(1));
  EXPECT_EQ(s.history.attempt_count, 3u);
  EXPECT_EQ(s.history.uncounted, 2u);
  EXPECT_TRUE(s.history.maybe_sent);
  EXPECT_EQ(s.submission, finished.job.submission);
  ASSERT_TRUE(s.attempt);
  EXPECT_EQ(s.attempt->outcome, "unknown");
  EXPECT_FALSE(s.attempt->counts);
  EXPECT_EQ(s.attempt->finished, finished.finished_at);
  EXPECT_TRUE(s.attempt->error.starts_with("plugin_hung: ")) << s.attempt->error;
  finished.job.history.lease_lost = kMaxLeasesLost - 1;
  s = settled(finished);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "worker_lost");
  EXPECT_TRUE(s.dead_letter);
}

// T12
TEST(Settlement, WhatWasOpenBesideAHangIsNoSuspectAndPaysNothing) {
  auto finished = finished_with(std::nullopt, Policy::max_attempts, 3);  // its last
  finished.how = Finished::How::interrupted;
  const auto s = settled(finished);
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.due, finished.finished_at);
  EXPECT_EQ(s.history.lease_lost, 0u);
  EXPECT_EQ(s.history.uncounted, 1u);
  EXPECT_TRUE(s.history.maybe_sent);
  ASSERT_TRUE(s.attempt);
  EXPECT_FALSE(s.attempt->counts);
  finished = finished_with(std::nullopt, Policy::one_shot);
  finished.how = Finished::How::interrupted;
  EXPECT_EQ(settled(finished).status, Status::exhausted) << "something of it may have been sent";
}

OrphanedDelivery lost_claim(std::uint32_t attempt_count, std::uint32_t lease_lost) {
  return {.delivery = {2 << kShardBits},
          .token = {77},
          .org = kDefaultOrg,
          .route = {1},
          .host = {9},
          .kind = "intent",
          .client_ref = "order 1",
          .claimed_at = kCreated + Seconds(1),
          .created = kCreated,
          .history = {.attempt_count = attempt_count, .lease_lost = lease_lost}};
}

TEST(LostSettlement, IsDueAgainAtOnceWithAnAttemptWhoseEndNobodySaw) {  // M17
  const Timestamp now = kCreated + Seconds(2);
  const auto s = settlement_of(lost_claim(1, 0), contract_of(Policy::max_attempts), now, "box:2", Blame::none);
  EXPECT_EQ(s.token, ClaimToken{77});
  EXPECT_EQ(s.status, Status::due);
  EXPECT_EQ(s.due, now);
  EXPECT_EQ(s.history.attempt_count, 2u);
  EXPECT_EQ(s.history.lease_lost, 0u);
  EXPECT_TRUE(s.history.maybe_sent);
  EXPECT_EQ(s.trigger, "lease_lost");
  EXPECT_EQ(s.actor, "box:2");
  EXPECT_EQ(s.action, "");
  ASSERT_TRUE(s.attempt);
  EXPECT_EQ(s.attempt->number, 2u);
  EXPECT_EQ(s.attempt->started, kCreated + Seconds(1));
  EXPECT_FALSE(s.attempt->finished);
  EXPECT_EQ(s.attempt->outcome, "unknown");
  EXPECT_NE(s.attempt->error.find("host 9"), std::string::npos) << s.attempt->error;
}

TEST(LostSettlement, AOneShotEndsAndIsNeverSentAgain) {  // M17
  const auto s = settlement_of(lost_claim(0, 0), contract_of(Policy::one_shot), kCreated + Seconds(2), "box:2", Blame::suspect);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "one_shot");
  EXPECT_EQ(s.ended, kCreated + Seconds(2));
  EXPECT_EQ(s.submission_state, "exhausted");
  EXPECT_EQ(s.action, "intent_exhausted");
  EXPECT_EQ(s.trigger, "lease_lost");
  EXPECT_EQ(s.attempt->outcome, "unknown");
}

TEST(LostSettlement, TheThirdLossIsADeadLetter) {  // M17
  const auto lost = [](std::uint32_t losses, Blame blame) {
    return settlement_of(lost_claim(losses, losses), contract_of(Policy::max_attempts), kCreated + Seconds(2), "box:2", blame);
  };
  EXPECT_EQ(lost(1, Blame::suspect).status, Status::due);
  EXPECT_EQ(lost(2, Blame::none).status, Status::due) << "this one was not its doing";
  const auto s = lost(2, Blame::suspect);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "worker_lost");
  EXPECT_EQ(s.history.lease_lost, 3u);
  EXPECT_EQ(s.metadata, R"({"attempts":3,"leaseLost":3,"reason":"worker_lost"})");
  EXPECT_EQ(s.history.attempt_count, 3u);
  EXPECT_TRUE(s.dead_letter);
  ASSERT_TRUE(s.alert);
  EXPECT_EQ(s.alert->about, "sms.primary/1:worker_lost");
  EXPECT_EQ(s.alert->message, "intent order 1: sms.primary, action 1 (sms) ended as worker_lost");
}

TEST(LostSettlement, ANotificationThatDiesRaisesNoAlert) {  // F13
  auto lost = lost_claim(2, 2);
  lost.kind = kAlertKind;
  const auto s = settlement_of(lost, contract_of(Policy::max_attempts), kCreated + Seconds(2), "box:2", Blame::suspect);
  EXPECT_TRUE(s.dead_letter);
  EXPECT_FALSE(s.alert);
}

// E1
TEST(LostSettlement, OnlyWhatItIsToBlameForCountsAgainstADeliveryAndItWaitsForTheOthers) {
  const Timestamp now = kCreated + Seconds(2);
  const auto lost = [&](std::uint32_t losses, Blame blame) {
    return settlement_of(lost_claim(4, losses), contract_of(Policy::max_attempts), now, "box:2", blame);
  };
  EXPECT_EQ(lost(0, Blame::none).history.lease_lost, 0u);
  EXPECT_EQ(lost(0, Blame::none).due, now);
  EXPECT_EQ(lost(1, Blame::none).history.lease_lost, 1u) << "a suspect stays one";
  EXPECT_EQ(lost(0, Blame::suspect).history.lease_lost, 1u);
  EXPECT_GT(lost(0, Blame::suspect).due, now);
  EXPECT_GT(lost(1, Blame::suspect).due, lost(0, Blame::suspect).due);
  for (const auto blame : {Blame::none, Blame::suspect}) EXPECT_EQ(lost(0, blame).history.uncounted, 1u);
}

TEST(LostSettlement, PastItsDeadlineItIsExhausted) {  // M7 M17
  const auto s = settlement_of(lost_claim(0, 0), contract_of(Policy::deadline), kCreated + Seconds(60), "box:2", Blame::none);
  EXPECT_EQ(s.status, Status::exhausted);
  EXPECT_EQ(s.reason, "deadline_exceeded");
}

}  // namespace
}  // namespace waybill
