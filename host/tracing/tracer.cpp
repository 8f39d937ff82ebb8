// Which submissions are traced, and the room for their spans.
#include "tracing/tracer.h"

#include <algorithm>
#include <random>

namespace waybill {
namespace {

bool is_chosen(double ratio) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < ratio;
}

}  // namespace

Taking Tracer::take_in(const Trace& received) const {
  if (!is_on_ || (received && !received->is_sampled)) return waybill::take_in(nullptr, received);
  if (!received && !is_chosen(ratio_)) return nullptr;
  auto trace = received ? *received : TraceContext{.trace_id = new_trace_id(), .parent_id = {}, .is_sampled = true, .state = {}};
  auto caller = std::exchange(trace.parent_id, new_span_id());
  return std::make_shared<const TakenIn>(TakenIn{.trace = std::make_shared<const TraceContext>(std::move(trace)),
                                                 .caller_span = std::move(caller),
                                                 .is_recorded = true,
                                                 .began = clock_.now()});
}

void Tracer::stored(const Taking& taking, const Stored& what) {
  if (!taking || !taking->is_recorded) return;
  // What the database wrote has its own time: the span holds it, although clocks are read one after the other.
  const auto end = std::max(clock_.time_at(clock_.now()), what.created.value_or(Timestamp{}));
  const auto began = clock_.time_at(taking->began);
  record({.trace_id = taking->trace->trace_id,
          .span_id = taking->trace->parent_id,
          .parent_id = taking->caller_span,
          .name = "intake",
          .kind = Span::Kind::server,
          .start = what.is_new && what.created ? std::min(began, *what.created) : began,
          .end = end,
          .attributes = {{"waybill.kind", std::string(what.kind)},
                         {"waybill.reference", std::string(what.reference)},
                         {"waybill.target", std::string(what.target)},
                         {"waybill.outcome", std::string(what.is_new ? "created" : "existing")}}});
}

void Tracer::record(Span span) {
  {
    const std::lock_guard lock(mutex_);
    if (spans_.size() < kMaxWaiting) {
      spans_.push_back(std::move(span));
      return;
    }
  }
  metrics_.trace_spans("queue_full", 1);
}

std::vector<Span> Tracer::take(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, spans_.size()));
  std::vector<Span> taken(std::make_move_iterator(spans_.begin()), std::make_move_iterator(spans_.begin() + count));
  spans_.erase(spans_.begin(), spans_.begin() + count);
  return taken;
}

std::size_t Tracer::waiting() const {
  const std::lock_guard lock(mutex_);
  return spans_.size();
}

}  // namespace waybill
