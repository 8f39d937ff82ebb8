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
std::string intent_json(const SubmissionView& intent) {
  std::string json = "{";
  json.reserve(160 + intent.client_ref.size() + intent.target.size());
  append_member(json, "intentId", intent.client_ref);
  append_member(json, "submissionTarget", intent.target);
  append_member(json, "createdAt", format_rfc3339(intent.created));
  append_member(json, "status", intent.state);
  if (intent.terms && intent.terms->not_before) append_member(json, "notBefore", format_rfc3339(*intent.terms->not_before));
  if (intent.terms && intent.terms->expires) append_member(json, "expiresAt", format_rfc3339(*intent.terms->expires));
  if (intent.terms && !intent.terms->producer.empty()) append_member(json, "submittedBy", intent.terms->producer);
  if (intent.completed) append_member(json, "completedAt", format_rfc3339(*intent.completed));
  if (intent.state == "rejected") append_member(json, "rejectedReason", intent.reason);
  if (intent.state == "exhausted") append_member(json, "exhaustedReason", intent.reason);
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
