// The trace that a submission belongs to, as W3C Trace Context has it (https://www.w3.org/TR/trace-context/): what clients may
// send as `traceparent` and `tracestate`, what is stored, and what destinations get. Clients write it, so only what the standard
// allows is taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/id.h"

namespace waybill {

inline constexpr std::size_t kTraceparentBytes = 55;
inline constexpr std::size_t kMaxTracestateBytes = 512;

struct TraceContext {
  std::string trace_id;   // 32 lower-case hexadecimal digits, not all 0
  std::string parent_id;  // 16 of them: the span that caused what this is stored with
  bool is_sampled = false;
  std::string state;  // tracestate, or empty

  bool operator==(const TraceContext&) const = default;
};
using Trace = std::shared_ptr<const TraceContext>;  // null: none

// Null unless `traceparent` is valid. A tracestate that is not, or that is longer than kMaxTracestateBytes, is left out.
Trace trace_of(std::string_view traceparent, std::string_view tracestate);

std::string traceparent_of(const TraceContext& trace);
// The one text that is stored, and what was read from it; null for any other text.
std::string stored_trace(const TraceContext& trace);
Trace trace_from(std::string_view stored);

// The span of an attempt: the same for whoever asks, so that it need not be stored.
std::string attempt_span_of(const TraceContext& trace, DeliveryId delivery, std::uint32_t attempt);
std::string new_trace_id();
std::string new_span_id();

}  // namespace waybill
