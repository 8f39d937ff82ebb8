// Writing the answers of the intent routes.
#include "api/intent_json.h"

#include <nlohmann/json.hpp>

#include "api/json_answer.h"

namespace waybill {
namespace {

void append_member(std::string& json, std::string_view name, std::string_view text) {
  json.append(json.size() == 1 ? "\"" : ",\"").append(name).append("\":");
  append_json_string(json, text);
}

}  // namespace

// By hand: every intent that is taken in is answered with one.
std::string intent_json(const SubmissionView& view) {
  std::string json = "{";
  json.reserve(160 + view.client_ref.size() + view.target.size());
  append_member(json, "intentId", view.client_ref);
  append_member(json, "submissionTarget", view.target);
  append_member(json, "createdAt", format_rfc3339(view.created));
  append_member(json, "status", view.state);
  if (view.completed) append_member(json, "completedAt", format_rfc3339(*view.completed));
  if (view.state == "rejected") append_member(json, "rejectedReason", view.reason);
  if (view.state == "exhausted") append_member(json, "exhaustedReason", view.reason);
  return json += '}';
}

std::string history_json(const HistoryView& history) {
  Json late = Json::array();
  for (const auto& one : history.late_failures)
    late.push_back({{"status", one.status},
                    {"failedAt", time_or_null(one.failed)},
                    {"noticedAt", format_rfc3339(one.noticed)},
                    {"providerRef", text_or_null(one.provider_ref)}});
  return "{\"intent\":" + intent_json(history.submission) + ",\"attempts\":" + dump(attempts_json(history.attempts)) +
         (late.empty() ? "" : ",\"notDelivered\":" + dump(late)) + "}";
}

}  // namespace waybill
