// What holds for decide() whatever comes: no sequence of outcomes leads around the contract.  M6 M7 M17 E14
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "domain/action_types.h"
#include "domain/decide.h"
#include "domain/form.h"

namespace waybill {
namespace {

using Kind = Decision::Kind;

const std::vector<std::string> kReasons{"invalid_request", "duplicate_reference", "provider_failure", "invalid_answer", ""};

template <class T>
std::vector<T> some_of(const std::vector<T>& all) {
  std::vector<T> some;
  for (const auto& one : all)
    if (*rc::gen::arbitrary<bool>()) some.push_back(one);
  return some;
}

double any_random() { return *rc::gen::inRange(0, 1'000'000) / 1e6; }

Contract any_contract(Policy policy) {
  return {.policy = policy,
          .max_acceptance = Seconds(policy == Policy::deadline ? *rc::gen::inRange(1, 1000) : 0),
          .max_attempts = policy == Policy::max_attempts ? *rc::gen::inRange(1u, 8u) : 0u,
          .terminal_outcomes = some_of(kReasons),
          .duplicate_reasons = some_of(kReasons)};
}

// As an action of a form has it, whatever the reasons of its action type are.
Contract any_contract_of_form() {
  ActionType type{.name = "letter", .reasons = {}};
  for (const auto& name : kReasons)
    type.reasons.push_back({.name = name, .permanent = *rc::gen::arbitrary<bool>(), .duplicate = *rc::gen::arbitrary<bool>()});
  const FormAction action{.order = 1,
                          .action_type = type.name,
                          .destination = "desk@example.org",
                          .template_id = {},
                          .subject_template = {},
                          .happyfox_category = {}};
  return contract_of(Form{.id = "contact", .name = "Contact", .actions = {action}}, action, &type);
}

Contract any_contract() {
  if (*rc::gen::inRange(0, 4) == 0) return any_contract_of_form();
  return any_contract(*rc::gen::element(Policy::deadline, Policy::max_attempts, Policy::one_shot));
}

Outcome any_outcome() {
  Outcome outcome{.verdict = *rc::gen::element(Verdict::accepted, Verdict::rejected, Verdict::transient, Verdict::deferred),
                  .reach = *rc::gen::element(Reach::not_sent, Reach::maybe_sent, Reach::answered),
                  .scope = *rc::gen::element(Scope::this_job, Scope::whole_target),
                  .reason = *rc::gen::elementOf(kReasons)};
  if (*rc::gen::arbitrary<bool>()) outcome.retry_after = Millis(*rc::gen::inRange<std::int64_t>(0, 200'000));
  return outcome;
}

RetryTiming any_timing() {
  const double low = *rc::gen::inRange(0, 100) / 10.0;
  return {.kind = *rc::gen::element(RetryTiming::Kind::fixed, RetryTiming::Kind::exponential),
          .delay = Millis(*rc::gen::inRange(0, 100'000)),
          .factor = *rc::gen::inRange(10, 1000) / 10.0,
          .max_delay = Millis(*rc::gen::inRange(1, 100'000'000)),
          .jitter_low = low,
          .jitter_high = low + *rc::gen::inRange(0, 100) / 10.0};
}

constexpr Millis kUncountedFor = std::chrono::hours(24);

std::optional<Outage> any_outage(Timestamp now) {
  if (!*rc::gen::arbitrary<bool>()) return std::nullopt;
  return Outage{now - Millis(*rc::gen::inRange<std::int64_t>(0, 200'000'000)),
                now + Millis(*rc::gen::inRange<std::int64_t>(-1000, 100'000)), kUncountedFor};
}

Outcome blaming() {
  return {.verdict = Verdict::transient, .reach = Reach::answered, .scope = Scope::whole_target, .reason = "try_later"};
}

// The history before the attempt that is number `counted` of those that count.
History before(std::uint32_t counted, std::uint32_t uncounted) {
  return {.attempt_count = counted - 1 + uncounted, .uncounted = uncounted};
}

Progress any_progress() {
  const Timestamp created{*rc::gen::inRange<std::int64_t>(0, 2'000'000'000'000'000)};
  const Timestamp now = created + Millis(*rc::gen::inRange<std::int64_t>(0, 2'000'000));
  auto history = before(*rc::gen::inRange(1u, 20u), *rc::gen::inRange(0u, 2000u));
  history.lease_lost = *rc::gen::inRange(0u, 5u);
  history.maybe_sent = *rc::gen::arbitrary<bool>();
  return {.before = history, .created = created, .now = now, .outage = any_outage(now)};
}

RC_GTEST_PROP(DecideProperties, ARetryIsNeverAtOrAfterTheDeadline, ()) {  // M7
  const auto contract = any_contract(Policy::deadline);
  const auto progress = any_progress();
  for (const auto& decision : {decide(any_outcome(), contract, progress, any_timing(), any_random()),
                               decide_lost(contract, progress.before.lease_lost, progress.created, progress.now)})
    if (decision.kind == Kind::retry) RC_ASSERT(decision.retry_at < *contract.deadline(progress.created));
}

RC_GTEST_PROP(DecideProperties, ARetryIsNeverInThePast, ()) {  // M9
  const auto progress = any_progress();
  const auto decision = decide(any_outcome(), any_contract(), progress, any_timing(), any_random());
  if (decision.kind == Kind::retry) RC_ASSERT(decision.retry_at >= progress.now);
}

RC_GTEST_PROP(DecideProperties, ARejectionIsOnlyForAReasonThatTheContractLists, ()) {  // M6
  const auto contract = any_contract();
  const auto outcome = any_outcome();
  const auto decision = decide(outcome, contract, any_progress(), any_timing(), any_random());
  if (decision.kind == Kind::reject) {
    RC_ASSERT(contract.is_terminal(decision.reason));
    RC_ASSERT(decision.reason == outcome.reason);
    RC_ASSERT(outcome.verdict == Verdict::rejected);
  }
}

RC_GTEST_PROP(DecideProperties, AnAcceptanceRestsOnEvidenceAndIsInTime, ()) {  // M6 M7
  const auto contract = any_contract();
  const auto outcome = any_outcome();
  const auto progress = any_progress();
  const auto decision = decide(outcome, contract, progress, any_timing(), any_random());
  if (decision.kind != Kind::accept) return;
  RC_ASSERT(!is_expired(contract, progress.created, progress.now));
  RC_ASSERT(outcome.verdict == Verdict::accepted || (progress.before.maybe_sent && contract.is_duplicate(outcome.reason)));
}

RC_GTEST_PROP(DecideProperties, EveryEndHasAReasonAndARetryHasNone, ()) {  // M6
  const auto decision = decide(any_outcome(), any_contract(), any_progress(), any_timing(), any_random());
  if (decision.kind == Kind::exhaust)
    RC_ASSERT(decision.reason == "one_shot" || decision.reason == "max_attempts" || decision.reason == "deadline_exceeded");
  if (decision.kind == Kind::accept || decision.kind == Kind::retry) RC_ASSERT(decision.reason.empty());
}

RC_GTEST_PROP(DecideProperties, ADeferralEndsAnActionOfAFormAndCountsAsAnAttemptOfAnIntent, ()) {  // F5
  auto outcome = any_outcome();
  const bool defers = *rc::gen::arbitrary<bool>();
  outcome.verdict = defers ? Verdict::deferred : *rc::gen::element(Verdict::accepted, Verdict::rejected, Verdict::transient);
  const auto of_form = any_contract_of_form();
  const auto decision = decide(outcome, of_form, any_progress(), any_timing(), any_random());
  RC_ASSERT((decision.kind == Kind::defer) == defers);
  if (defers) RC_ASSERT(decision.reason == outcome.reason);
  const auto of_intent = decide(outcome, any_contract(Policy::max_attempts), any_progress(), any_timing(), any_random());
  RC_ASSERT(of_intent.kind != Kind::defer);
  if (defers) RC_ASSERT(of_intent.kind == Kind::retry || of_intent.kind == Kind::exhaust);
}

// A delivery's whole life under random outcomes and random deaths of hosts.
struct Life {
  std::uint32_t sent = 0;  // calls of a sender, seen and lost ones
  std::uint32_t lost = 0;
  std::uint32_t seen = 0;       // that count
  std::uint32_t uncounted = 0;  // an outage's
  bool ended = false;
  Timestamp last_start{};
};

Life lived(const Contract& contract, const RetryTiming& timing, bool hosts_die) {
  Life life;
  const Timestamp created{1'000'000'000};
  Timestamp now = created;
  bool doubt = false;
  while (!life.ended && life.sent < 50) {
    if (is_expired(contract, created, now)) break;  // what the executor asks before it calls a sender
    ++life.sent;
    life.last_start = now;
    now = now + Millis(*rc::gen::inRange<std::int64_t>(0, 20'000));
    Decision decision{};
    if (hosts_die && *rc::gen::inRange(0, 4) == 0) {
      doubt = true;
      decision = decide_lost(contract, ++life.lost, created, now);
    } else {
      const auto outcome = any_outcome();
      auto history = before(life.seen + 1, life.uncounted);
      history.lease_lost = life.lost;
      history.maybe_sent = doubt;
      decision = decide(outcome, contract, {history, created, now, any_outage(now)}, timing, any_random());
      ++(decision.counts ? life.seen : life.uncounted);
      doubt = doubt || leaves_doubt(outcome);
    }
    life.ended = decision.kind != Kind::retry;
    if (decision.kind == Kind::retry) now = std::max(now, decision.retry_at);
  }
  return life;
}

RC_GTEST_PROP(DecideProperties, AttemptsNeverExceedMaxAttempts, ()) {  // M6
  const auto contract = any_contract(Policy::max_attempts);
  const auto life = lived(contract, any_timing(), true);
  RC_ASSERT(life.seen <= contract.max_attempts);
  RC_ASSERT(life.lost <= kMaxLeasesLost);
  RC_ASSERT(life.ended || life.uncounted > 0);
}

RC_GTEST_PROP(DecideProperties, AnActionOfAFormIsAttemptedFiveTimesAtMost, ()) {  // F6
  const auto life = lived(any_contract_of_form(), any_timing(), true);
  RC_ASSERT(life.seen <= kFormAttempts);
  RC_ASSERT(life.lost <= kMaxLeasesLost);
  RC_ASSERT(life.ended || life.uncounted > 0);
}

RC_GTEST_PROP(DecideProperties, AnOutageUsesUpNoAttempts, ()) {  // E14
  const auto contract = any_contract(Policy::max_attempts);
  auto progress = any_progress();
  progress.before = before(*rc::gen::inRange(1u, contract.max_attempts + 1), *rc::gen::inRange(0u, kMaxUncounted));
  const Millis length(*rc::gen::inRange<std::int64_t>(0, kUncountedFor.count()));
  progress.outage = Outage{progress.now - length, progress.now + Seconds(1), kUncountedFor};
  const auto decision = decide(blaming(), contract, progress, any_timing(), any_random());
  RC_ASSERT(decision.kind == Kind::retry);
  RC_ASSERT(!decision.counts);
}

RC_GTEST_PROP(DecideProperties, AnOutageThatLastsTooLongOrADeliveryThatIsItsCauseEndsAtLast, ()) {  // E14
  const auto contract = any_contract(Policy::max_attempts);
  auto progress = any_progress();
  const bool is_long = *rc::gen::arbitrary<bool>();
  progress.before = before(contract.max_attempts, is_long ? 0 : kMaxUncounted + 60);
  progress.outage = Outage{progress.now - (is_long ? kUncountedFor : Seconds(60)), progress.now + Seconds(1), kUncountedFor};
  RC_ASSERT(decide(blaming(), contract, progress, any_timing(), any_random()) == (Decision{Kind::exhaust, "max_attempts"}));
}

RC_GTEST_PROP(DecideProperties, OnlyWhatBlamesTheTargetGoesUncounted, ()) {  // E14
  const auto outcome = any_outcome();
  const auto progress = any_progress();
  const auto contract = any_contract();
  const auto decision = decide(outcome, contract, progress, any_timing(), any_random());
  if (decision.counts) return;
  RC_ASSERT(blames_target(outcome) && progress.outage && contract.policy != Policy::one_shot);
  RC_ASSERT(decision.kind == Kind::retry || decision.reason == "deadline_exceeded");
}

RC_GTEST_PROP(DecideProperties, ARetryWaitsForTheCooldownAndForWhatTheReceiverAsked, ()) {  // E14
  auto outcome = any_outcome();
  outcome.scope = Scope::whole_target;
  const auto progress = any_progress();
  const auto decision = decide(outcome, any_contract(), progress, any_timing(), any_random());
  if (decision.kind != Kind::retry) return;
  RC_ASSERT(decision.retry_at >= progress.now + outcome.retry_after.value_or(Millis(0)));
  if (blames_target(outcome) && progress.outage) RC_ASSERT(decision.retry_at >= progress.outage->until);
}

RC_GTEST_PROP(DecideProperties, AOneShotIsNeverSentTwice, ()) {  // M17
  const auto life = lived(any_contract(Policy::one_shot), any_timing(), true);
  RC_ASSERT(life.sent == 1u);
  RC_ASSERT(life.ended);
}

RC_GTEST_PROP(DecideProperties, NoAttemptBeginsAtOrAfterTheDeadline, ()) {  // M7
  const auto contract = any_contract(Policy::deadline);
  const auto life = lived(contract, any_timing(), true);
  RC_ASSERT(life.last_start < *contract.deadline({1'000'000'000}));
  RC_ASSERT(life.lost <= kMaxLeasesLost);
}

RC_GTEST_PROP(RetryTimingProperties, AWaitStaysWithinItsBounds, ()) {  // M9
  const auto timing = any_timing();
  const auto attempts = *rc::gen::inRange(1u, std::numeric_limits<std::uint32_t>::max());
  const auto wait = wait_after(timing, attempts, {}, any_random());
  RC_ASSERT(wait >= Millis(0));
  RC_ASSERT(wait <= timing.max_delay);
}

RC_GTEST_PROP(RetryTimingProperties, JitterStaysInItsRange, ()) {  // M9
  auto timing = any_timing();
  timing.max_delay = std::chrono::hours(24 * 365);
  timing.kind = RetryTiming::Kind::fixed;
  const auto wait = static_cast<double>(wait_after(timing, 1, {}, any_random()).count());
  const auto delay = static_cast<double>(timing.delay.count());
  RC_ASSERT(wait >= delay * timing.jitter_low - 1);
  RC_ASSERT(wait <= delay * timing.jitter_high + 1);
}

RC_GTEST_PROP(RetryTimingProperties, ARetryAfterIsALowerBoundUpToOneDay, ()) {  // M9
  const auto timing = any_timing();
  const auto random = any_random();
  const Millis asked(*rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()));
  const auto own = wait_after(timing, 3, {}, random);
  const auto wait = wait_after(timing, 3, asked, random);
  RC_ASSERT(wait == std::max(own, std::min<Millis>(asked, std::chrono::hours(24))));
}

}  // namespace
}  // namespace waybill
