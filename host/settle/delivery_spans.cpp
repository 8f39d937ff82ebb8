// Spans from what a settlement knows.
#include "settle/delivery_spans.h"

#include "settle/objective_end.h"

namespace waybill {
namespace {

Span span_of(const JobHead& job, std::string_view name, Timestamp start, Timestamp end) {
  return {.trace_id = job.trace->trace_id,
          .span_id = new_span_id(),
          .parent_id = job.trace->parent_id,
          .name = name,
          .start = start,
          .end = end,
          .attributes = {{"waybill.reference", job.client_ref},
                         {"waybill.target", delivery_target(*job.contract)},
                         {"waybill.action_type", job.contract->action_type}}};
}

Span attempt_of(const Finished& finished, const AttemptRecord& attempt, std::string reason) {
  auto span = span_of(finished.job, "attempt", finished.started_at, finished.finished_at);
  span.span_id = attempt_span_of(*finished.job.trace, finished.job.delivery, attempt.number);
  span.kind = Span::Kind::client;
  span.attributes.emplace_back("waybill.attempt", std::int64_t{attempt.number});
  span.attributes.emplace_back("waybill.outcome", attempt.outcome);
  if (!reason.empty()) span.attributes.emplace_back("waybill.reason", reason);
  // A relay's answer has a code as well, which is none of HTTP.
  const bool is_http = !finished.job.contract->url.empty() || finished.job.contract->is_of_channel();
  if (attempt.code != 0)
    span.attributes.emplace_back(is_http ? "http.response.status_code" : "waybill.code", std::int64_t{attempt.code});
  if (attempt.outcome != "accepted" && attempt.outcome != "deferred") span.error = std::move(reason);
  return span;
}

}  // namespace

void record_spans(Tracer& tracer, const Finished& finished, const Settlement& settlement, Timestamp written) {
  const JobHead& job = finished.job;
  if (!tracer.records(job.trace) || finished.how == Finished::How::unattempted) return;  // what was given back still waits
  if (job.history.attempt_count == 0) tracer.record(span_of(job, "wait", job.created, job.claimed_at));
  auto settled = span_of(job, "settle", finished.finished_at, written);
  if (settlement.attempt) {
    auto attempt =
        attempt_of(finished, *settlement.attempt, finished.outcome ? finished.outcome->reason : settlement.attempt->reason);
    settled.parent_id = attempt.span_id;
    tracer.record(std::move(attempt));
  }
  settled.attributes.emplace_back("waybill.status", std::string(to_string(settlement.status)));
  tracer.record(std::move(settled));
}

}  // namespace waybill
