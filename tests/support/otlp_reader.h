// Reads an export request of OTLP in its JSON form, strictly: by the messages of opentelemetry-proto 1.x (trace/v1, common/v1,
// resource/v1) and their JSON mapping. What those do not have, or have otherwise, is an error. Nothing of Waybill's own encoder
// is used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::testing {

struct OtlpSpan {
  std::string trace_id, span_id, parent_id;  // hexadecimal digits; parent_id "": a root
  std::string name;
  int kind = 0;
  std::uint64_t start = 0, end = 0;               // nanoseconds since 1970
  std::map<std::string, std::string> attributes;  // numbers as texts
  std::map<std::string, std::string> resource;    // of whom
  std::string scope;
  int status = 0;  // 0 unset, 1 ok, 2 error
  std::string status_message;
};

// Throws std::runtime_error that says what is wrong, and where.
std::vector<OtlpSpan> read_otlp(std::string_view body);

}  // namespace waybill::testing
