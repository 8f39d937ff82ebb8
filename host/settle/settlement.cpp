// Turning decisions into rows.
#include "settle/settlement.h"

#include "base/json_string.h"

namespace waybill {
namespace {

AttemptRecord record_of(const Finished& finished) {
  const Outcome& outcome = *finished.outcome;
  AttemptRecord record{.number = finished.job.attempt,
                       .started = finished.started_at,
                       .finished = finished.finished_at,
                       .outcome = {},
                       .reason = {},
                       .error = {},
                       .code = outcome.code,
                       .provider_ref = outcome.provider_ref};
  switch (outcome.verdict) {
    case Verdict::accepted:
      record.outcome = "accepted";
      break;
    case Verdict::rejected:
      record.outcome = "rejected";
      record.reason = outcome.reason;
      record.error = outcome.detail;
      break;
    case Verdict::deferred:
      record.outcome = "deferred";
      record.reason = outcome.reason;
      record.error = outcome.detail;
      break;
    case Verdict::transient:
      record.outcome = "error";
      record.error = outcome.reason;
      if (!outcome.detail.empty()) record.error += ": " + outcome.detail;
      break;
  }
  return record;
}

void apply(const Decision& decision, const Contract& contract, Timestamp now, Settlement& s) {
  s.status = *next(Status::claimed, event_of(decision.kind));
  s.due = decision.retry_at;
  s.reason = decision.reason;
  if (s.status == Status::due) return;
  s.ended = now;
  if (contract.is_of_form()) {  // its submission goes on by what has become of all its actions
    s.dead_letter = s.status == Status::rejected || s.status == Status::exhausted;
  } else {
    const auto move = intent_move(s.status);
    s.submission_state = move.to;
    s.from_state = move.from;
    s.action = move.action;
    s.dead_letter = decision.kind == Decision::Kind::dead_letter;
  }
  s.metadata = "{\"attempts\":" + std::to_string(s.attempt_count);
  if (s.lease_lost > 0) s.metadata += ",\"leaseLost\":" + std::to_string(s.lease_lost);
  if (!s.reason.empty()) s.metadata += ",\"reason\":" + json_string(s.reason);
  s.metadata += "}";
}

}  // namespace

SubmissionMove intent_move(Status end) {
  const std::string to(to_string(end));
  return {"pending", to, "intent_" + to};
}

Settlement settlement_of(const Finished& finished, const RetryTiming& timing, double random, const std::string& actor,
                         const std::optional<Outage>& outage) {
  const Job& job = finished.job;
  Settlement s{.delivery = job.delivery,
               .submission = job.submission,
               .token = job.token,
               .status = Status::due,
               .due = finished.finished_at,
               .attempt_count = job.attempt - 1,
               .lease_lost = job.lease_lost,
               .uncounted = job.uncounted,
               .maybe_sent = job.maybe_sent_before,
               .actor = actor,
               .action_type = job.contract->action_type,
               .of_form = job.contract->is_of_form()};
  switch (finished.how) {
    case Finished::How::composed:  // the artefact apart, it is given back
    case Finished::How::unattempted:
      s.due = finished.finished_at + finished.not_before.value_or(Millis{0});
      s.trigger = to_string(Event::release);
      break;
    case Finished::How::expired:
      apply({Decision::Kind::exhaust, "deadline_exceeded"}, *job.contract, finished.finished_at, s);
      s.trigger = to_string(Event::exhaust);
      break;
    case Finished::How::attempted: {
      const Progress progress{.attempts = job.attempt - job.uncounted,
                              .maybe_sent_before = job.maybe_sent_before,
                              .created = job.created,
                              .now = finished.finished_at,
                              .uncounted = job.uncounted,
                              .outage = outage};
      const Decision decision = decide(*finished.outcome, *job.contract, progress, timing, random);
      s.attempt_count = job.attempt;
      s.lease_lost = 0;  // whatever it died with, it has lived through an attempt
      s.maybe_sent = job.maybe_sent_before || leaves_doubt(*finished.outcome);
      s.attempt = record_of(finished);
      s.attempt->counts = decision.counts;
      if (!decision.counts) ++s.uncounted;
      apply(decision, *job.contract, finished.finished_at, s);
      if (s.status == Status::due)
        s.progress = finished.outcome->result;
      else
        s.result = finished.outcome->result;
      s.trigger = to_string(event_of(decision.kind));
      break;
    }
  }
  return s;
}

Millis suspect_delay(std::uint32_t losses) { return losses < 2 ? Millis{1'000} : Millis{4'000}; }

Settlement settlement_of(const OrphanedClaim& lost, const Contract& contract, Timestamp now, const std::string& actor,
                         Blame blame) {
  const std::uint32_t losses = lost.lease_lost + (blame == Blame::suspect ? 1 : 0);
  Settlement s{.delivery = lost.delivery,
               .token = lost.token,
               .status = Status::due,
               .attempt_count = lost.attempt_count + 1,
               .lease_lost = losses,
               .uncounted = lost.uncounted + 1,
               .maybe_sent = true,
               .trigger = std::string(to_string(Event::lease_lost)),
               .actor = actor,
               .action_type = contract.action_type,
               .of_form = contract.is_of_form()};
  s.attempt = AttemptRecord{
      .number = lost.attempt_count + 1,
      .started = lost.claimed_at,
      .finished = std::nullopt,
      .outcome = "unknown",
      .reason = {},
      .error = "host " + std::to_string(lost.host.value) + " was lost " +
               (blame == Blame::suspect ? "inside the plugin of this attempt" : "during this attempt; nobody saw its end"),
      .code = 0,
      .provider_ref = {},
      .counts = false};
  apply(decide_lost(contract, {.attempts = s.attempt_count - s.uncounted,
                               .lease_lost = losses,
                               .maybe_sent_before = true,
                               .created = lost.created,
                               .now = now}),
        contract, now, s);
  if (s.status == Status::due && blame == Blame::suspect) s.due = now + suspect_delay(losses);
  return s;
}

Settlement minimal(Settlement refused) {
  refused.result.clear();
  refused.progress.clear();
  refused.metadata.clear();
  if (refused.attempt) {
    refused.attempt->error = "what was told of this attempt could not be stored; the host's log has it";
    refused.attempt->provider_ref.clear();
  }
  return refused;
}

}  // namespace waybill
