// Spans from what a settlement knows.
#include "settle/delivery_spans.h"

#include "settle/objective_end.h"

namespace waybill {
namespace {

// Whose spans they are.
struct Traced {
  const TraceContext& trace;
  DeliveryId delivery;
  const std::string& client_ref;
  const Contract& contract;
};

Span span_of(const Traced& traced, std::string_view name, Timestamp start, Timestamp end) {
  return {.trace_id = traced.trace.trace_id,
          .span_id = new_span_id(),
          .parent_id = traced.trace.parent_id,
          .name = name,
          .start = start,
          .end = end,
          .attributes = {{"waybill.reference", traced.client_ref},
                         {"waybill.target", delivery_target(traced.contract)},
                         {"waybill.action_type", traced.contract.action_type}}};
}

Span attempt_of(const Traced& traced, const AttemptRecord& attempt, Timestamp start, Timestamp end, std::string reason) {
  auto span = span_of(traced, "attempt", start, end);
  span.span_id = attempt_span_of(traced.trace, traced.delivery, attempt.number);
  span.kind = Span::Kind::client;
  span.attributes.emplace_back("waybill.attempt", std::int64_t{attempt.number});
  span.attributes.emplace_back("waybill.outcome", attempt.outcome);
  if (!reason.empty()) span.attributes.emplace_back("waybill.reason", reason);
  // A relay's answer has a code as well, which is none of HTTP.
  const bool is_http = !traced.contract.url.empty() || traced.contract.is_of_channel();
  if (attempt.code != 0)
    span.attributes.emplace_back(is_http ? "http.response.status_code" : "waybill.code", std::int64_t{attempt.code});
  if (attempt.outcome != "accepted" && attempt.outcome != "deferred") span.error = std::move(reason);
  return span;
}

}  // namespace

void record_spans(Tracer& tracer, const Finished& finished, const Settlement& settlement, Timestamp written) {
  const JobHead& job = finished.job;
  if (!tracer.records(job.trace) || finished.how == Finished::How::unattempted) return;  // what was given back still waits
  const Traced traced{*job.trace, job.delivery, job.client_ref, *job.contract};
  if (job.history.attempt_count == 0) tracer.record(span_of(traced, "wait", job.begins(), job.claimed_at));
  auto settled = span_of(traced, "settle", finished.finished_at, written);
  if (settlement.attempt) {
    auto attempt = attempt_of(traced, *settlement.attempt, finished.started_at, finished.finished_at,
                              finished.outcome ? finished.outcome->reason : settlement.attempt->reason);
    settled.parent_id = attempt.span_id;
    tracer.record(std::move(attempt));
  }
  settled.attributes.emplace_back("waybill.status", std::string(to_string(settlement.status)));
  tracer.record(std::move(settled));
}

void record_spans(Tracer& tracer, const OrphanedDelivery& lost, const Contract& contract, const Settlement& settlement,
                  Timestamp taken_back) {
  if (!tracer.records(lost.trace) || !settlement.attempt) return;
  const Traced traced{*lost.trace, lost.delivery, lost.client_ref, contract};
  if (lost.history.attempt_count == 0)
    tracer.record(span_of(traced, "wait", begins_at(lost.created, lost.terms), lost.claimed_at));
  auto attempt = attempt_of(traced, *settlement.attempt, lost.claimed_at, taken_back, settlement.trigger);
  attempt.attributes.emplace_back("waybill.status", std::string(to_string(settlement.status)));
  tracer.record(std::move(attempt));
}

}  // namespace waybill
