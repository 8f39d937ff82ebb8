// What follows from an attempt: the contract's rules, in one place.
#include "core/decide.h"

namespace waybill {
namespace {

using Kind = Decision::Kind;

Decision retry_or_exhaust(const Outcome& outcome, const Contract& contract, const Progress& progress, const RetryTiming& timing,
                          double random) {
  switch (contract.policy) {
    case Policy::one_shot:
      return {Kind::exhaust, "one_shot"};
    case Policy::max_attempts:
      if (progress.attempts >= contract.max_attempts) return {Kind::exhaust, "max_attempts"};
      break;
    case Policy::deadline:
      break;
  }
  const Timestamp due = progress.now + wait_after(timing, progress.attempts, outcome.retry_after, random);
  if (const auto deadline = contract.deadline(progress.created); deadline && due >= *deadline)
    return {Kind::exhaust, "deadline_exceeded"};
  return {Kind::retry, {}, due};
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
  const bool had_it = outcome.verdict == Verdict::rejected && contract.is_duplicate(outcome.reason) && progress.maybe_sent_before;
  if (outcome.verdict == Verdict::accepted || had_it) {
    if (is_expired(contract, progress.created, progress.now)) return {Kind::exhaust, "deadline_exceeded"};
    return {Kind::accept, {}};
  }
  if (outcome.verdict == Verdict::deferred && contract.is_of_form()) return {Kind::defer, outcome.reason};
  if (outcome.verdict == Verdict::rejected && contract.is_terminal(outcome.reason)) return {Kind::reject, outcome.reason};
  return retry_or_exhaust(outcome, contract, progress, timing, random);
}

Decision decide_lost(const Contract& contract, const Progress& progress) {
  if (contract.policy == Policy::one_shot) return {Kind::exhaust, "one_shot"};
  if (progress.lease_lost >= kMostLeasesLost) return {Kind::dead_letter, "worker_lost"};
  if (is_expired(contract, progress.created, progress.now)) return {Kind::exhaust, "deadline_exceeded"};
  return {Kind::retry, {}, progress.now};
}

bool is_expired(const Contract& contract, Timestamp created, Timestamp now) {
  const auto deadline = contract.deadline(created);
  return deadline && now >= *deadline;
}

bool leaves_doubt(const Outcome& outcome) { return outcome.verdict == Verdict::transient && outcome.reach != Reach::not_sent; }

}  // namespace waybill
