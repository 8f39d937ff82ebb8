// Field names in lowerCamelCase, ids in hexadecimal digits, 64-bit numbers as texts.
#include "tracing/otlp.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

constexpr int kStatusError = 2;  // STATUS_CODE_ERROR

std::string nanos_of(Timestamp time) { return std::to_string(time.micros * 1000); }

Json attribute(std::string_view key, const std::variant<std::string, std::int64_t>& value) {
  Json json{{"key", key}};
  if (const auto* text = std::get_if<std::string>(&value))
    json["value"] = Json{{"stringValue", *text}};
  else
    json["value"] = Json{{"intValue", std::to_string(std::get<std::int64_t>(value))}};
  return json;
}

Json span_json(const Span& span) {
  Json json{{"traceId", span.trace_id}, {"spanId", span.span_id}};
  if (!span.parent_id.empty()) json["parentSpanId"] = span.parent_id;
  json["name"] = span.name;
  json["kind"] = static_cast<int>(span.kind);
  json["startTimeUnixNano"] = nanos_of(span.start);
  json["endTimeUnixNano"] = nanos_of(std::max(span.start, span.end));
  json["attributes"] = Json::array();
  for (const auto& [key, value] : span.attributes) json["attributes"].push_back(attribute(key, value));
  if (span.error) json["status"] = Json{{"code", kStatusError}, {"message", *span.error}};
  return json;
}

}  // namespace

std::string export_request_json(const SpanResource& resource, std::span<const Span> spans) {
  Json all = Json::array();
  for (const auto& span : spans) all.push_back(span_json(span));
  const Json scope{{"name", "waybill"}, {"version", resource.service_version}};
  const Json attributes{attribute("service.name", resource.service_name), attribute("service.version", resource.service_version),
                        attribute("service.instance.id", resource.instance)};
  Json scope_spans = Json::array({Json{{"scope", scope}, {"spans", std::move(all)}}});
  Json resource_spans =
      Json::array({Json{{"resource", Json{{"attributes", attributes}}}, {"scopeSpans", std::move(scope_spans)}}});
  return dump(Json{{"resourceSpans", std::move(resource_spans)}});
}

PartialSuccess partial_success_in(std::string_view answer) {
  const auto json = read_json(answer);
  if (!json || !json->is_object() || !json->contains("partialSuccess")) return {};
  const auto& partial = json->at("partialSuccess");
  if (!partial.is_object()) return {};
  PartialSuccess found;
  if (const auto at = partial.find("rejectedSpans"); at != partial.end()) {
    if (at->is_number_unsigned()) found.rejected = at->get<std::uint64_t>();
    if (at->is_string()) found.rejected = std::strtoull(at->get_ref<const std::string&>().c_str(), nullptr, 10);
  }
  if (const auto at = partial.find("errorMessage"); at != partial.end() && at->is_string()) found.message = *at;
  return found;
}

}  // namespace waybill
