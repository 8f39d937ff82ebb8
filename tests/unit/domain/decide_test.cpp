// What follows from an attempt, for every policy, verdict and reach.  M6 M7 M8 M17
#include "domain/decide.h"

#include <gtest/gtest.h>

#include <vector>

namespace waybill {
namespace {

using Kind = Decision::Kind;

constexpr Timestamp kCreated{1'700'000'000'000'000};
constexpr RetryTiming kFiveSeconds{};
constexpr Policy kPolicies[] = {Policy::deadline, Policy::max_attempts, Policy::one_shot};
constexpr Verdict kVerdicts[] = {Verdict::accepted, Verdict::rejected, Verdict::transient, Verdict::deferred};
constexpr Reach kReaches[] = {Reach::not_sent, Reach::maybe_sent, Reach::answered};

Contract contract_of(Policy policy) {
  return {.policy = policy,
          .max_acceptance = policy == Policy::deadline ? Seconds(60) : Seconds(0),
          .max_attempts = policy == Policy::max_attempts ? 3u : 0u,
          .terminal_outcomes = {"invalid_request", "invalid_recipient"},
          .duplicate_reasons = {"duplicate_reference"}};
}

Outcome outcome_of(Verdict verdict, Reach reach = Reach::answered, std::string reason = {}) {
  return {.verdict = verdict, .reach = reach, .reason = std::move(reason)};
}

Progress after(Micros since_creation, std::uint32_t attempts = 1) {
  return {.before = {.attempt_count = attempts - 1}, .created = kCreated, .now = kCreated + since_creation};
}

Decision decided(const Outcome& outcome, const Contract& contract, const Progress& progress) {
  return decide(outcome, contract, progress, kFiveSeconds, 0.5);
}

TEST(Decide, AcceptanceInTimeIsAcceptedUnderEveryPolicyHoweverFarTheRequestGot) {  // M6
  for (const Policy policy : kPolicies)
    for (const Reach reach : kReaches)
      EXPECT_EQ(decided(outcome_of(Verdict::accepted, reach), contract_of(policy), after(Seconds(1))).kind, Kind::accept)
          << to_string(policy) << " " << to_string(reach);
}

TEST(Decide, ATerminalReasonRejectsUnderEveryPolicyAndIsKept) {  // M6
  for (const Policy policy : kPolicies)
    for (const Reach reach : kReaches) {
      const auto decision =
          decided(outcome_of(Verdict::rejected, reach, "invalid_recipient"), contract_of(policy), after(Seconds(1)));
      EXPECT_EQ(decision, (Decision{Kind::reject, "invalid_recipient"})) << to_string(policy) << " " << to_string(reach);
    }
}

TEST(Decide, WhateverElseHappensIsRetriedAsTheContractAllows) {  // M6 M8
  struct Case {
    Verdict verdict;
    std::string reason;
  };
  const std::vector<Case> cases{{Verdict::rejected, "provider_failure"},     // not listed as terminal
                                {Verdict::rejected, "duplicate_reference"},  // nothing may have been sent before
                                {Verdict::rejected, ""},
                                {Verdict::transient, "invalid_answer"},
                                {Verdict::transient, "invalid_request"},  // a terminal word, but not a rejection
                                {Verdict::deferred, "no_credentials"},
                                {Verdict::deferred, "invalid_request"}};
  for (const auto& [verdict, reason] : cases)
    for (const Reach reach : kReaches) {
      const auto outcome = outcome_of(verdict, reach, reason);
      const auto at = after(Seconds(1));
      EXPECT_EQ(decided(outcome, contract_of(Policy::deadline), at), (Decision{Kind::retry, {}, at.now + Seconds(5)})) << reason;
      EXPECT_EQ(decided(outcome, contract_of(Policy::max_attempts), at), (Decision{Kind::retry, {}, at.now + Seconds(5)}))
          << reason;
      EXPECT_EQ(decided(outcome, contract_of(Policy::one_shot), at), (Decision{Kind::exhaust, "one_shot"})) << reason;
    }
}

TEST(Decide, OneShotIsOverAfterOneAttemptWhateverItsOutcome) {  // M6 M17
  for (const Verdict verdict : kVerdicts)
    for (const Reach reach : kReaches)
      EXPECT_NE(decided(outcome_of(verdict, reach, "provider_failure"), contract_of(Policy::one_shot), after(Seconds(1))).kind,
                Kind::retry)
          << to_string(verdict) << " " << to_string(reach);
}

TEST(Decide, MaxAttemptsEndsWithTheLastAllowedAttempt) {  // M6
  const auto contract = contract_of(Policy::max_attempts);
  const auto failed = outcome_of(Verdict::transient, Reach::answered, "http_503");
  EXPECT_EQ(decided(failed, contract, after(Seconds(1), 1)).kind, Kind::retry);
  EXPECT_EQ(decided(failed, contract, after(Seconds(1), 2)).kind, Kind::retry);
  EXPECT_EQ(decided(failed, contract, after(Seconds(1), 3)), (Decision{Kind::exhaust, "max_attempts"}));
  EXPECT_EQ(decided(failed, contract, after(Seconds(1), 4)), (Decision{Kind::exhaust, "max_attempts"}));
}

TEST(Decide, TheLastAttemptMayStillBeAcceptedOrRejected) {  // M6
  const auto contract = contract_of(Policy::max_attempts);
  EXPECT_EQ(decided(outcome_of(Verdict::accepted), contract, after(Seconds(1), 3)).kind, Kind::accept);
  EXPECT_EQ(decided(outcome_of(Verdict::rejected, Reach::answered, "invalid_request"), contract, after(Seconds(1), 3)).kind,
            Kind::reject);
}

TEST(Decide, MaxAttemptsKnowsNoTime) {  // M6 M7
  const auto decision =
      decided(outcome_of(Verdict::accepted), contract_of(Policy::max_attempts), after(std::chrono::hours(24 * 365)));
  EXPECT_EQ(decision.kind, Kind::accept);
}

TEST(Decide, ARetryMustFallStrictlyBeforeTheDeadline) {  // M7
  const auto contract = contract_of(Policy::deadline);
  const auto failed = outcome_of(Verdict::transient);
  const Micros last_useful = Seconds(55);  // + 5 s is the deadline itself
  EXPECT_EQ(decided(failed, contract, after(last_useful - Micros(1))).kind, Kind::retry);
  EXPECT_EQ(decided(failed, contract, after(last_useful)), (Decision{Kind::exhaust, "deadline_exceeded"}));
  EXPECT_EQ(decided(failed, contract, after(last_useful + Micros(1))), (Decision{Kind::exhaust, "deadline_exceeded"}));
}

TEST(Decide, AcceptanceCountsOnlyStrictlyBeforeTheDeadline) {  // M6 M7
  const auto contract = contract_of(Policy::deadline);
  const auto accepted = outcome_of(Verdict::accepted);
  EXPECT_EQ(decided(accepted, contract, after(Seconds(60) - Micros(1))).kind, Kind::accept);
  EXPECT_EQ(decided(accepted, contract, after(Seconds(60))), (Decision{Kind::exhaust, "deadline_exceeded"}));
  EXPECT_EQ(decided(accepted, contract, after(Seconds(61))), (Decision{Kind::exhaust, "deadline_exceeded"}));
}

TEST(Decide, ATerminalReasonAfterTheDeadlineIsStillARejection) {  // M6
  const auto decision = decided(outcome_of(Verdict::rejected, Reach::answered, "invalid_request"), contract_of(Policy::deadline),
                                after(Seconds(90)));
  EXPECT_EQ(decision, (Decision{Kind::reject, "invalid_request"}));
}

TEST(Decide, ADuplicateAfterADoubtfulAttemptIsEvidenceOfAcceptance) {  // M17
  for (const Policy policy : kPolicies) {
    auto progress = after(Seconds(1), 2);
    progress.before.maybe_sent = true;
    const auto duplicate = outcome_of(Verdict::rejected, Reach::answered, "duplicate_reference");
    EXPECT_EQ(decided(duplicate, contract_of(policy), progress).kind, Kind::accept) << to_string(policy);
  }
}

TEST(Decide, ADuplicateAfterADoubtfulAttemptCountsEvenWhenItIsTerminal) {  // M17
  auto contract = contract_of(Policy::max_attempts);
  contract.terminal_outcomes.push_back("duplicate_reference");
  const auto duplicate = outcome_of(Verdict::rejected, Reach::answered, "duplicate_reference");
  auto progress = after(Seconds(1), 2);
  EXPECT_EQ(decided(duplicate, contract, progress), (Decision{Kind::reject, "duplicate_reference"}));
  progress.before.maybe_sent = true;
  EXPECT_EQ(decided(duplicate, contract, progress).kind, Kind::accept);
}

TEST(Decide, ADuplicateThatArrivesAfterTheDeadlineIsTooLateAsWell) {  // M7 M17
  auto progress = after(Seconds(60), 2);
  progress.before.maybe_sent = true;
  EXPECT_EQ(
      decided(outcome_of(Verdict::rejected, Reach::answered, "duplicate_reference"), contract_of(Policy::deadline), progress),
      (Decision{Kind::exhaust, "deadline_exceeded"}));
}

TEST(Decide, OnlyARejectionCanBeADuplicate) {  // M17
  auto progress = after(Seconds(1), 2);
  progress.before.maybe_sent = true;
  EXPECT_EQ(
      decided(outcome_of(Verdict::transient, Reach::answered, "duplicate_reference"), contract_of(Policy::max_attempts), progress)
          .kind,
      Kind::retry);
}

TEST(Decide, TheReceiversRetryAfterLiftsTheWaitAndNeverShortensIt) {  // M9
  const auto contract = contract_of(Policy::max_attempts);
  auto outcome = outcome_of(Verdict::transient);
  const auto at = after(Seconds(1));
  outcome.retry_after = Seconds(30);
  EXPECT_EQ(decided(outcome, contract, at).retry_at, at.now + Seconds(30));
  outcome.retry_after = Millis(1);
  EXPECT_EQ(decided(outcome, contract, at).retry_at, at.now + Seconds(5));
}

TEST(Decide, ARetryAfterBeyondTheDeadlineExhausts) {  // M7
  auto outcome = outcome_of(Verdict::transient);
  outcome.retry_after = Seconds(59);
  EXPECT_EQ(decided(outcome, contract_of(Policy::deadline), after(Seconds(1))), (Decision{Kind::exhaust, "deadline_exceeded"}));
}

Decision lost(Policy policy, std::uint32_t losses, Micros since_creation = Seconds(1)) {
  return decide_lost(contract_of(policy), losses, kCreated, kCreated + since_creation);
}

TEST(DecideLost, OneShotNeverSendsAgain) {  // M17
  for (std::uint32_t losses = 1; losses <= 4; ++losses)
    EXPECT_EQ(lost(Policy::one_shot, losses), (Decision{Kind::exhaust, "one_shot"}));
}

TEST(DecideLost, OthersAreDueAgainAtOnceUntilTheThirdLoss) {  // M17
  for (const Policy policy : {Policy::deadline, Policy::max_attempts}) {
    const Decision now{Kind::retry, {}, kCreated + Seconds(1)};
    EXPECT_EQ(lost(policy, 1), now) << to_string(policy);
    EXPECT_EQ(lost(policy, 2), now) << to_string(policy);
    EXPECT_EQ(lost(policy, 3), (Decision{Kind::dead_letter, "worker_lost"})) << to_string(policy);
    EXPECT_EQ(lost(policy, 4), (Decision{Kind::dead_letter, "worker_lost"})) << to_string(policy);
  }
}

TEST(DecideLost, TheDeadlineHoldsForLostAttemptsToo) {  // M7 M17
  EXPECT_EQ(lost(Policy::deadline, 1, Seconds(60) - Micros(1)).kind, Kind::retry);
  EXPECT_EQ(lost(Policy::deadline, 1, Seconds(60)), (Decision{Kind::exhaust, "deadline_exceeded"}));
}

TEST(Decide, ARetryThatWouldComeWhenItHasExpiredIsNone) {  // Q4
  auto progress = after(Seconds(1));
  progress.expires = progress.now + Seconds(5);
  const auto failed = outcome_of(Verdict::transient, Reach::answered, "http_503");
  EXPECT_EQ(decided(failed, contract_of(Policy::max_attempts), progress), (Decision{Kind::exhaust, "expired"}));
  progress.expires = progress.now + Seconds(5) + Micros(1);
  EXPECT_EQ(decided(failed, contract_of(Policy::max_attempts), progress).kind, Kind::retry);
  progress.expires = progress.now;
  EXPECT_EQ(decided(outcome_of(Verdict::accepted, Reach::answered, ""), contract_of(Policy::max_attempts), progress).kind,
            Kind::accept)
      << "what was begun in time is not undone";
}

TEST(IsExpired, OnlyADeadlineExpiresAndFromItsVeryMicrosecond) {  // M7
  EXPECT_FALSE(is_expired(contract_of(Policy::deadline), kCreated, kCreated + Seconds(60) - Micros(1)));
  EXPECT_TRUE(is_expired(contract_of(Policy::deadline), kCreated, kCreated + Seconds(60)));
  EXPECT_FALSE(is_expired(contract_of(Policy::max_attempts), kCreated, kCreated + std::chrono::hours(9999)));
  EXPECT_FALSE(is_expired(contract_of(Policy::one_shot), kCreated, kCreated + std::chrono::hours(9999)));
}

TEST(LeavesDoubt, OnlyATransientOutcomeWhoseRequestMayHaveArrived) {  // M17
  for (const Verdict verdict : kVerdicts)
    for (const Reach reach : kReaches)
      EXPECT_EQ(leaves_doubt(outcome_of(verdict, reach)), verdict == Verdict::transient && reach != Reach::not_sent)
          << to_string(verdict) << " " << to_string(reach);
}

TEST(EventOf, EveryDecisionIsAMoveOfAClaimedDelivery) {  // M6
  struct Case {
    Kind kind;
    Status then;
  };
  for (const auto& [kind, then] :
       {Case{Kind::accept, Status::accepted}, Case{Kind::reject, Status::rejected}, Case{Kind::exhaust, Status::exhausted},
        Case{Kind::dead_letter, Status::exhausted}, Case{Kind::retry, Status::due}})
    EXPECT_EQ(next(Status::claimed, event_of(kind)), then);
}

TEST(Decide, DeferralEndsAFormsActionAndIsTriedAgainElsewhere) {  // F9
  Contract form = contract_of(Policy::max_attempts);
  form.form_id = "contact";
  const auto deferred = outcome_of(Verdict::deferred, Reach::not_sent, "not_configured");
  EXPECT_EQ(decided(deferred, form, after(Seconds(1))), (Decision{Kind::defer, "not_configured"}));
  EXPECT_EQ(event_of(Kind::defer), Event::defer);
  EXPECT_EQ(decided(deferred, contract_of(Policy::max_attempts), after(Seconds(1))).kind, Kind::retry);
}

}  // namespace
}  // namespace waybill
