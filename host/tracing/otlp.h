// Spans in the JSON form of OTLP (opentelemetry.io/docs/specs/otlp): the body of an export request, and what its answer says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tracing/tracer.h"

namespace waybill {

// Whose spans they are: attributes of the resource.
struct SpanResource {
  std::string service_name, service_version, instance;
};

std::string export_request_json(const SpanResource& resource, std::span<const Span> spans);

// The partial success that an answer tells of; zeros for any other text.
struct PartialSuccess {
  std::uint64_t rejected = 0;
  std::string message;
};
PartialSuccess partial_success_in(std::string_view answer);

}  // namespace waybill
