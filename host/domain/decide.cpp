// What follows from an attempt: the contract's rules, in one place.
#include "domain/decide.h"

#include <algorithm>

#include "domain/submission_terms.h"

namespace waybill {
namespace {

using Kind = Decision::Kind;

bool is_the_outages_fault(const Outcome& outcome, const Progress& progress) {
  if (!blames_target(outcome) || !progress.outage) return false;
  const Micros length = std::max(progress.now - progress.outage->since, Micros(0));
  return length < progress.outage->uncounted_for &&
         progress.before.uncounted <
             kMaxUncounted + static_cast<std::uint64_t>(std::chrono::duration_cast<Seconds>(length).count());
}

// It never left, and so nothing of the delivery's contract is used up: the next host may send it.
bool is_this_hosts_fault(const Outcome& outcome, const Progress& progress) {
  return is_the_outages_fault(outcome, progress) && progress.outage->of_this_host && outcome.reach == Reach::not_sent;
}

// During a cooldown its end, else after the usual wait; an attempt that counts during a cooldown waits for both. Never sooner
// than the destination asked.
Timestamp next_try(const Outcome& outcome, const Progress& progress, const RetryTiming& timing, double random, bool counts) {
  const auto usual = [&] { return progress.now + wait_after(timing, progress.attempts(), outcome.retry_after, random); };
  if (!blames_target(outcome) || !progress.outage || progress.outage->until <= progress.now) return usual();
  if (!counts && progress.outage->of_this_host) return progress.now + kOthersTurn;
  if (counts) return std::max(progress.outage->until, usual());
  const Millis asked = std::clamp(outcome.retry_after.value_or(Millis(0)), Millis(0), kMaxRetryAfter);
  return std::max(progress.outage->until, progress.now + asked);
}

Decision retry_or_exhaust(const Outcome& outcome, const Contract& contract, const Progress& progress, const RetryTiming& timing,
                          double random) {
  if (contract.policy == Policy::one_shot && !is_this_hosts_fault(outcome, progress)) return {Kind::exhaust, "one_shot"};
  const bool counts = !is_the_outages_fault(outcome, progress);
  if (contract.policy == Policy::max_attempts && counts && progress.attempts() >= contract.attempts_for(outcome.reason))
    return {Kind::exhaust, "max_attempts"};
  const Timestamp due = next_try(outcome, progress, timing, random, counts);
  if (const auto deadline = contract.deadline(progress.created); deadline && due >= *deadline)
    return {Kind::exhaust, "deadline_exceeded", {}, counts};
  if (progress.expires && due >= *progress.expires) return {Kind::exhaust, kExpired, {}, counts};
  return {Kind::retry, {}, due, counts};
}

}  // namespace

Event event_of(Decision::Kind kind) {
  switch (kind) {
    case Kind::accept:
      return Event::accept;
    case Kind::reject:
      return Event::reject;
    case Kind::exhaust:
      return Event::exhaust;
    case Kind::dead_letter:
      return Event::exhaust;
    case Kind::defer:
      return Event::defer;
    case Kind::retry:
      return Event::retry;
  }
  return Event::retry;
}

Decision decide(const Outcome& outcome, const Contract& contract, const Progress& progress, const RetryTiming& timing,
                double random) {
  const bool had_it = outcome.verdict == Verdict::rejected && contract.is_duplicate(outcome.reason) && progress.before.maybe_sent;
  if (outcome.verdict == Verdict::accepted || had_it) {
    if (is_expired(contract, progress.created, progress.now)) return {Kind::exhaust, "deadline_exceeded"};
    return {Kind::accept, {}};
  }
  if (outcome.verdict == Verdict::deferred && (contract.is_of_form() || contract.is_of_stage()))
    return {Kind::defer, outcome.reason};
  if (outcome.verdict == Verdict::rejected && contract.is_terminal(outcome.reason)) return {Kind::reject, outcome.reason};
  return retry_or_exhaust(outcome, contract, progress, timing, random);
}

Decision decide_lost(const Contract& contract, std::uint32_t lease_lost, Timestamp created, Timestamp now, Reach reach) {
  if (contract.policy == Policy::one_shot && reach != Reach::not_sent) return {Kind::exhaust, "one_shot"};
  if (lease_lost >= kMaxLeasesLost) return {Kind::dead_letter, "worker_lost"};
  if (is_expired(contract, created, now)) return {Kind::exhaust, "deadline_exceeded"};
  return {Kind::retry, {}, now};
}

bool is_expired(const Contract& contract, Timestamp created, Timestamp now) {
  const auto deadline = contract.deadline(created);
  return deadline && now >= *deadline;
}

bool blames_target(const Outcome& outcome) {
  return outcome.scope == Scope::whole_target && outcome.verdict != Verdict::accepted;
}

bool may_blame_target(const Outcome& outcome) {
  if (outcome.verdict != Verdict::transient || outcome.scope == Scope::whole_target) return false;
  if (outcome.reason.starts_with(kPluginsFault)) return false;
  return outcome.reach == Reach::maybe_sent || (outcome.reach == Reach::answered && outcome.code / 100 == 5);
}

bool clears_target(const Outcome& outcome) { return !blames_target(outcome) && outcome.reach != Reach::not_sent; }

bool leaves_doubt(const Outcome& outcome) { return outcome.verdict == Verdict::transient && outcome.reach != Reach::not_sent; }

}  // namespace waybill
