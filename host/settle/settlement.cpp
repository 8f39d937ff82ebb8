// Turns decisions into rows: the attempt, the end, its audit and its dead letter. The alert's words are in dead_letter_alert.cpp.
#include "settle/settlement.h"

#include <map>
#include <vector>

#include "base/json_writer.h"
#include "domain/builtin_pipelines.h"
#include "domain/pipeline_step.h"
#include "domain/result_check.h"
#include "settle/dead_letter_alert.h"

namespace waybill {
namespace {

AttemptRecord record_of(const Finished& finished) {
  const Outcome& outcome = *finished.outcome;
  AttemptRecord record{.number = finished.job.attempt(),
                       .started = finished.started_at,
                       .finished = finished.finished_at,
                       .outcome = {},
                       .reason = {},
                       .error = {},
                       .code = outcome.code,
                       .provider_ref = outcome.provider_ref,
                       .maybe_sent = outcome.verdict != Verdict::accepted && outcome.reach == Reach::maybe_sent,
                       .answer = outcome.answer,
                       .sent_hash = outcome.sent_hash.empty() ? std::string() : "\\x" + outcome.sent_hash,
                       .signed_with = outcome.signed_with};
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

void apply(const Decision& decision, const Contract& contract, const AlertOrigin& origin, Timestamp now, Settlement& s) {
  s.status = *next(Status::claimed, event_of(decision.kind));
  s.due = decision.retry_at;
  s.reason = decision.reason;
  if (s.status == Status::due) return;
  s.ended = now;
  if (contract.is_of_form()) {  // the state of its submission follows from all its actions
    s.action = action_audit(s.status, contract.action_type);
    s.dead_letter = s.status == Status::rejected || s.status == Status::exhausted;
  } else if (contract.is_of_stage()) {  // so does this, and its audit is that of its transitions
    s.dead_letter = s.status == Status::rejected || s.status == Status::exhausted;
  } else {
    const auto move = intent_move(s.status);
    s.submission_state = move.to;
    s.from_state = move.from;
    s.action = move.action;
    s.dead_letter = decision.kind == Decision::Kind::dead_letter;
  }
  if (s.dead_letter && origin.kind != kAlertKind) s.alert = dead_letter_alert(origin, contract, s.reason);
  s.metadata = "{\"attempts\":" + std::to_string(s.history.attempt_count);
  if (s.history.lease_lost > 0) s.metadata += ",\"leaseLost\":" + std::to_string(s.history.lease_lost);
  if (!s.reason.empty()) s.metadata += ",\"reason\":" + json_string(s.reason);
  s.metadata += "}";
}

}  // namespace

SubmissionMove intent_move(Status end) {
  static const auto* moves = [] {  // the same for all intents: worked out once
    auto* made = new std::map<Status, SubmissionMove>;
    const auto& intent = builtin_pipeline("intent");
    const auto& pending = *intent.find(intent.initial);
    for (const Status status : {Status::accepted, Status::rejected, Status::exhausted}) {
      Facts facts;
      facts.set("/stage/status", json_string(to_string(status)));
      const std::vector<ActionRun> runs{{.status = status}};
      const auto& move = *next_step(intent, pending, runs, facts).transition;
      (*made)[status] = {move.from, move.to, move.audit};
    }
    return made;
  }();
  return moves->at(end);
}

std::string action_audit(Status end, std::string_view action_type) {
  if (end == Status::deferred) return {};
  return std::string(action_type) + (end == Status::accepted ? "_success" : "_failure");
}

Millis suspect_delay(std::uint32_t losses) { return losses < 2 ? Millis{1'000} : Millis{4'000}; }

namespace {

// An attempt that nobody saw the end of, and that does not count.
Settlement begin_lost(const OrphanedDelivery& lost, const Contract& contract, Event event, const std::string& actor,
                      std::string words, Reach reach) {
  const bool maybe_sent = reach != Reach::not_sent;
  Settlement s{.delivery = lost.delivery,
               .token = lost.token,
               .status = Status::due,
               .history = lost.history,
               .trigger = std::string(to_string(event)),
               .actor = actor,
               .action_type = contract.action_type,
               .of_form = contract.is_of_form(),
               .of_stage = contract.is_of_stage()};
  ++s.history.attempt_count;
  ++s.history.uncounted;
  s.history.maybe_sent |= maybe_sent;
  s.attempt = AttemptRecord{.number = s.history.attempt_count,
                            .started = lost.claimed_at,
                            .finished = std::nullopt,
                            .outcome = maybe_sent ? "unknown" : "error",
                            .reason = {},
                            .error = std::move(words),
                            .code = 0,
                            .provider_ref = {},
                            .counts = false,
                            .maybe_sent = maybe_sent};
  return s;
}

// Nobody saw the attempt's end. It does not count, but `blame` may end the delivery.
Settlement settlement_of_lost(const OrphanedDelivery& lost, const Contract& contract, Timestamp now, const std::string& actor,
                              Blame blame, std::string words, Reach reach = Reach::maybe_sent) {
  const std::uint32_t losses = lost.history.lease_lost + (blame == Blame::suspect ? 1 : 0);
  auto s = begin_lost(lost, contract, Event::lease_lost, actor, std::move(words), reach);
  s.history.lease_lost = losses;
  auto decision = decide_lost(contract, losses, begins_at(lost.created, lost.terms), now, reach);
  if (decision.kind == Decision::Kind::retry && has_expired(lost.terms, now)) decision = {Decision::Kind::exhaust, kExpired};
  apply(decision, contract, {lost.kind, lost.client_ref, lost.action_order}, now, s);
  if (s.status == Status::due && blame == Blame::suspect) s.due = now + suspect_delay(losses);
  return s;
}

std::string words_of_hang(const Finished& finished) {
  const bool is_culprit = finished.how == Finished::How::hung;
  if (!finished.outcome || finished.outcome->detail.empty())
    return is_culprit ? "plugin_hung: the plugin did not come back from this attempt"
                      : "plugin_hung: the plugin hung in another delivery; nobody saw this attempt's end";
  return "plugin_crash: the plugin's process ended: " + finished.outcome->detail +
         (is_culprit ? "" : "; it was inside of another delivery, and nobody saw this attempt's end");
}

// As after a crash: what the plugin was inside of is a suspect, what was open beside it is not.
Settlement settlement_of_hang(const Finished& finished, const std::string& actor) {
  const JobHead& job = finished.job;
  const bool is_culprit = finished.how == Finished::How::hung;
  auto s = settlement_of_lost({.delivery = job.delivery,
                               .token = job.token,
                               .org = job.org,
                               .route = job.route,
                               .host = host_of(job.token),
                               .kind = job.kind,
                               .client_ref = job.client_ref,
                               .action_order = job.action_order,
                               .claimed_at = finished.started_at,
                               .created = job.created,
                               .history = job.history,
                               .terms = job.terms},
                              *job.contract, finished.finished_at, actor, is_culprit ? Blame::suspect : Blame::none,
                              words_of_hang(finished), finished.outcome ? finished.outcome->reach : Reach::maybe_sent);
  s.submission = job.submission;
  s.attempt->finished = finished.finished_at;
  return s;
}

Settlement settlement_as_told(const Finished& finished, const RetryTiming& timing, double random, const std::string& actor,
                              const std::optional<Outage>& outage) {
  const JobHead& job = finished.job;
  const AlertOrigin origin{job.kind, job.client_ref, job.action_order};
  Settlement s{.delivery = job.delivery,
               .submission = job.submission,
               .token = job.token,
               .status = Status::due,
               .due = finished.finished_at,
               .history = job.history,
               .actor = actor,
               .action_type = job.contract->action_type,
               .of_form = job.contract->is_of_form(),
               .of_stage = job.contract->is_of_stage()};
  switch (finished.how) {
    case Finished::How::composed:  // given back; its artifact is stored separately
    case Finished::How::unattempted:
      s.due = finished.finished_at + finished.not_before.value_or(Millis{0});
      s.trigger = to_string(Event::release);
      break;
    case Finished::How::hung:
    case Finished::How::interrupted:
      break;  // settlement_of_hang(): this function returns one object, so that none is moved
    case Finished::How::expired:
      apply({Decision::Kind::exhaust,
             has_expired(job.terms, finished.finished_at) && !is_expired(*job.contract, job.begins(), finished.finished_at)
                 ? kExpired
                 : "deadline_exceeded"},
            *job.contract, origin, finished.finished_at, s);
      s.trigger = to_string(Event::exhaust);
      break;
    case Finished::How::attempted: {
      const Progress progress{.before = job.history,
                              .created = job.begins(),
                              .now = finished.finished_at,
                              .outage = outage,
                              .expires = job.terms ? job.terms->expires : std::nullopt};
      const Decision decision = decide(*finished.outcome, *job.contract, progress, timing, random);
      ++s.history.attempt_count;
      s.history.lease_lost = 0;  // it has lived through an attempt
      s.history.maybe_sent |= leaves_doubt(*finished.outcome);
      s.attempt = record_of(finished);
      s.attempt->counts = decision.counts;
      if (outage && outage->of_this_host) s.attempt->error += " (so finds host " + actor + " alone)";
      if (!decision.counts) ++s.history.uncounted;
      apply(decision, *job.contract, origin, finished.finished_at, s);
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

}  // namespace

Settlement settlement_of(const Finished& finished, const RetryTiming& timing, double random, const std::string& actor,
                         const std::optional<Outage>& outage) {
  if (finished.how == Finished::How::hung || finished.how == Finished::How::interrupted)
    return settlement_of_hang(finished, actor);
  const auto& stage = finished.job.contract->stage;
  const auto fault = stage && finished.outcome ? result_fault(*finished.outcome, *stage) : std::string();
  if (fault.empty()) return settlement_as_told(finished, timing, random, actor, outage);
  Finished faulty = finished;
  faulty.outcome->verdict = Verdict::transient;
  faulty.outcome->reason = "invalid_result";
  faulty.outcome->detail = fault;
  faulty.outcome->result.clear();
  return settlement_as_told(faulty, timing, random, actor, outage);
}

Settlement settlement_of(const OrphanedDelivery& lost, const Contract& contract, Timestamp now, const std::string& actor,
                         Blame blame) {
  return settlement_of_lost(
      lost, contract, now, actor, blame,
      "host " + std::to_string(lost.host.value) + " was lost " +
          (blame == Blame::suspect ? "inside the plugin of this attempt" : "during this attempt; nobody saw its end"));
}

Settlement settlement_of_restored(const OrphanedDelivery& lost, const Contract& contract, Timestamp now,
                                  const std::string& actor) {
  auto s = begin_lost(lost, contract, Event::exhaust, actor,
                      "the database was restored to this moment: whether it was sent after it is not known", Reach::maybe_sent);
  const auto kind = contract.is_of_channel() ? Decision::Kind::exhaust : Decision::Kind::dead_letter;
  apply({kind, "restored"}, contract, {lost.kind, lost.client_ref, lost.action_order}, now, s);
  s.trigger = "restore";
  return s;
}

namespace {

Settlement end_of_waiting(const WaitingDelivery& waiting, const Contract& contract, const char* reason, Timestamp now,
                          const std::string& actor) {
  Settlement s{.delivery = waiting.id,
               .submission = waiting.submission,
               .token = kOperatorsToken,
               .status = Status::exhausted,
               .history = waiting.history,
               .trigger = std::string(to_string(Event::exhaust)),
               .actor = actor,
               .action_type = contract.action_type,
               .of_form = contract.is_of_form(),
               .of_stage = contract.is_of_stage()};
  apply({Decision::Kind::exhaust, reason}, contract, {waiting.kind, waiting.reference, waiting.action_order}, now, s);
  return s;
}

}  // namespace

Settlement settlement_of(const WaitingDelivery& waiting, const Contract& contract, Timestamp now, const std::string& actor) {
  auto s = end_of_waiting(waiting, contract, kEndedByOperator, now, actor);
  s.alert.reset();
  return s;
}

Settlement settlement_of_expired(const WaitingDelivery& waiting, const Contract& contract, Timestamp now,
                                 const std::string& actor) {
  return end_of_waiting(waiting, contract, kExpired, now, actor);
}

Settlement minimal(Settlement refused) {
  refused.result.clear();
  refused.halts = refused.of_stage;
  refused.progress.clear();
  refused.metadata.clear();
  if (refused.attempt) {
    refused.attempt->error = "what was told of this attempt could not be stored; the host's log has it";
    refused.attempt->provider_ref.clear();
    refused.attempt->answer.reset();
  }
  return refused;
}

}  // namespace waybill
