// Spans of submissions and their deliveries: begun at intake, recorded in bounded room, handed to whoever exports them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/database_clock.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "telemetry/metrics.h"

namespace waybill {

// Names and kinds are those of OpenTelemetry.
struct Span {
  enum class Kind : std::uint8_t { internal = 1, server = 2, client = 3 };
  using Attribute = std::pair<std::string_view, std::variant<std::string, std::int64_t>>;  // keys are literals

  std::string trace_id, span_id, parent_id;  // parent_id "": none
  std::string_view name;
  Kind kind = Kind::internal;
  Timestamp start, end;
  std::vector<Attribute> attributes{};
  std::optional<std::string> error{};  // it failed, and why
};

// A submission that is coming in: what is stored with it, and what its span will say. Null: it has no trace.
struct TakenIn {
  Trace trace;              // of what is recorded, the span of the intake is its parent
  std::string caller_span;  // that span's own parent; "": none
  bool is_recorded = false;
  Clock::Monotonic began{};
};
using Taking = std::shared_ptr<const TakenIn>;
inline Trace trace_of(const Taking& taking) { return taking ? taking->trace : nullptr; }

// Safe from any thread.
class Tracer {
 public:
  static constexpr std::size_t kMaxWaiting = 8192;  // spans; more are dropped and counted

  // `ratio`: of submissions that come without a trace, the share that gets one. With `is_on` false nothing is recorded, and a
  // trace that comes in is passed on as it is.
  Tracer(bool is_on, double ratio, const DatabaseClock& clock, Metrics& metrics)
      : is_on_(is_on), ratio_(ratio), clock_(clock), metrics_(metrics) {}

  bool is_on() const { return is_on_; }
  bool records(const Trace& trace) const { return is_on_ && trace && trace->is_sampled; }
  // Each submission of a request is taken in by itself.
  Taking take_in(const Trace& received) const;
  // It is stored, or was: the span of its intake ends.
  struct Stored {
    std::string_view kind;       // "intent"
    std::string_view reference;  // the client's
    std::string_view target;
    bool is_new = true;
    std::optional<Timestamp> created{};  // as the database has it
  };
  void stored(const Taking& taking, const Stored& what);
  void record(Span span);
  std::vector<Span> take(std::size_t most);  // of those that wait, the oldest
  std::size_t waiting() const;

 private:
  const bool is_on_;
  const double ratio_;
  const DatabaseClock& clock_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::deque<Span> spans_;  // guarded by mutex_
};

// Where there may be no tracer, a trace is passed on as it came.
inline Taking take_in(const Tracer* tracer, const Trace& received) {
  if (tracer != nullptr) return tracer->take_in(received);
  return received ? std::make_shared<const TakenIn>(TakenIn{.trace = received, .caller_span = {}}) : nullptr;
}

}  // namespace waybill
