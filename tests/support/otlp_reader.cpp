// The messages as the published .proto files have them.
#include "support/otlp_reader.h"

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace waybill::testing {
namespace {

using nlohmann::json;

[[noreturn]] void wrong(const std::string& where, const std::string& why) { throw std::runtime_error(where + ": " + why); }

const json& object(const json& value, const std::string& where, const std::set<std::string>& fields) {
  if (!value.is_object()) wrong(where, "is no object: " + value.dump());
  for (const auto& [name, field] : value.items())
    if (!fields.contains(name)) wrong(where, "has no field " + name);
  return value;
}

const json& list(const json& owner, const char* name, const std::string& where) {
  static const json kNone = json::array();
  const auto found = owner.find(name);
  if (found == owner.end()) return kNone;
  if (!found->is_array()) wrong(where + "." + name, "is no list");
  return *found;
}

std::string text(const json& owner, const char* name, const std::string& where) {
  const auto found = owner.find(name);
  if (found == owner.end()) return {};
  if (!found->is_string()) wrong(where + "." + name, "is no text");
  return *found;
}

// An enum is an integer here: "enum values ... only by their integer values" (OTLP, JSON Protobuf Encoding).
int enumerator(const json& owner, const char* name, int most, const std::string& where) {
  const auto found = owner.find(name);
  if (found == owner.end()) return 0;
  if (!found->is_number_integer() || found->get<int>() < 0 || found->get<int>() > most)
    wrong(where + "." + name, "is no such enumerator");
  return found->get<int>();
}

// 64-bit integers are decimal texts; a reader takes numbers too, but Waybill writes texts.
std::string decimal(const json& owner, const char* name, const std::string& where) {
  auto digits = text(owner, name, where);
  const auto from = digits.starts_with('-') ? 1u : 0u;
  if (digits.size() <= from || digits.find_first_not_of("0123456789", from) != std::string::npos)
    wrong(where + "." + name, "is no decimal number: " + digits);
  return digits;
}

std::string id(const json& owner, const char* name, std::size_t bytes, const std::string& where) {
  auto digits = text(owner, name, where);
  if (digits.size() != 2 * bytes || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    wrong(where + "." + name, "is not " + std::to_string(bytes) + " bytes in hexadecimal digits: " + digits);
  if (digits.find_first_not_of('0') == std::string::npos) wrong(where + "." + name, "is all zero");
  return digits;
}

std::map<std::string, std::string> attributes(const json& owner, const std::string& where) {
  std::map<std::string, std::string> all;
  for (const auto& one : list(owner, "attributes", where)) {
    const auto& pair = object(one, where + ".attributes", {"key", "value"});
    const auto key = text(pair, "key", where + ".attributes");
    if (key.empty()) wrong(where + ".attributes", "has an empty key");
    const auto place = where + "." + key;
    const auto& value =
        object(pair.at("value"), place,
               {"stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"});
    if (value.size() != 1) wrong(place, "has not one value");
    if (!all.emplace(key, value.contains("intValue") ? decimal(value, "intValue", place) : text(value, "stringValue", place))
             .second)
      wrong(place, "stands twice");
  }
  return all;
}

OtlpSpan span(const json& value, const std::string& where) {
  object(value, where,
         {"traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
          "attributes", "droppedAttributesCount", "events", "droppedEventsCount", "links", "droppedLinksCount", "status"});
  OtlpSpan read{.trace_id = id(value, "traceId", 16, where),
                .span_id = id(value, "spanId", 8, where),
                .parent_id = value.contains("parentSpanId") ? id(value, "parentSpanId", 8, where) : "",
                .name = text(value, "name", where),
                .kind = enumerator(value, "kind", 5, where),
                .start = std::stoull(decimal(value, "startTimeUnixNano", where)),
                .end = std::stoull(decimal(value, "endTimeUnixNano", where)),
                .attributes = attributes(value, where),
                .resource = {},
                .scope = {},
                .status_message = {}};
  if (read.name.empty()) wrong(where, "has no name");
  if (read.kind == 0) wrong(where, "has no kind");
  if (read.start == 0 || read.end < read.start) wrong(where, "ends before it begins");
  if (value.contains("status")) {
    const auto& status = object(value.at("status"), where + ".status", {"message", "code"});
    read.status = enumerator(status, "code", 2, where + ".status");
    read.status_message = text(status, "message", where + ".status");
  }
  return read;
}

}  // namespace

std::vector<OtlpSpan> read_otlp(std::string_view body) {
  const auto request = json::parse(body);
  object(request, "request", {"resourceSpans"});
  std::vector<OtlpSpan> all;
  for (const auto& of_resource : list(request, "resourceSpans", "request")) {
    object(of_resource, "resourceSpans", {"resource", "scopeSpans", "schemaUrl"});
    const auto& resource = object(of_resource.at("resource"), "resource", {"attributes", "droppedAttributesCount", "entityRefs"});
    const auto whose = attributes(resource, "resource");
    for (const auto& of_scope : list(of_resource, "scopeSpans", "resourceSpans")) {
      object(of_scope, "scopeSpans", {"scope", "spans", "schemaUrl"});
      const auto& scope = object(of_scope.at("scope"), "scope", {"name", "version", "attributes", "droppedAttributesCount"});
      for (const auto& one : list(of_scope, "spans", "scopeSpans")) {
        all.push_back(span(one, "span " + std::to_string(all.size())));
        all.back().resource = whose;
        all.back().scope = text(scope, "name", "scope");
      }
    }
  }
  if (all.empty()) wrong("request", "has no span");
  return all;
}

}  // namespace waybill::testing
