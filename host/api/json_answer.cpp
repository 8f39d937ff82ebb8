// Shared pieces of answers.
#include "api/json_answer.h"

#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {

Json time_or_null(const std::optional<Timestamp>& time) { return time ? Json(format_rfc3339(*time)) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_or_null(const std::string& text) {
  auto json = read_json(text, {.doubled_names = JsonReading::DoubledNames::kept});
  return json ? std::move(*json) : Json(nullptr);
}

Json edited_json(const std::string& field, const std::string& value) {
  return field == "fields" ? json_or_null(value) : Json(value);
}

void append_terms(Json& json, const Terms& terms) {
  if (!terms) return;
  if (terms->not_before) json["notBefore"] = format_rfc3339(*terms->not_before);
  if (terms->expires) json["expiresAt"] = format_rfc3339(*terms->expires);
  if (!terms->producer.empty()) json["submittedBy"] = terms->producer;
}

void append_delivery(Json& json, const ActionDeliveryView& d) {
  json["actionType"] = d.action_type;
  json["status"] = to_string(d.status);
  json["reason"] = text_or_null(d.reason);
  json["attempts"] = d.attempts;
  if (d.replay > 0) json["replay"] = d.replay;
  if (!d.provider_ref.empty()) json["providerRef"] = d.provider_ref;
  json["result"] = json_or_null(d.result);
  if (d.due && (d.status == Status::due || d.status == Status::claimed)) json["nextAttemptAt"] = format_rfc3339(*d.due);
  json["endedAt"] = time_or_null(d.ended);
}

namespace {

// A lost attempt may have been sent whatever was recorded; one that was accepted has been.
Json maybe_sent_json(const AttemptView& a) {
  if (a.outcome == "unknown") return true;
  if (a.outcome == "accepted") return false;
  return a.maybe_sent ? Json(*a.maybe_sent) : Json(nullptr);
}

}  // namespace

Json attempts_json(const std::vector<AttemptView>& attempts) {
  Json list = Json::array();
  for (const auto& a : attempts) {
    list.push_back({{"attemptNumber", a.number},
                    {"startedAt", format_rfc3339(a.started)},
                    {"finishedAt", time_or_null(a.finished)},
                    {"outcomeStatus", a.outcome},
                    {"outcomeReason", text_or_null(a.reason)},
                    {"error", text_or_null(a.error)},
                    {"counts", a.counts},
                    {"code", a.code == 0 ? Json(nullptr) : Json(a.code)},
                    {"providerRef", text_or_null(a.provider_ref)},
                    {"mayHaveBeenSent", maybe_sent_json(a)}});
    if (!a.answer.empty()) list.back()["answer"] = json_or_null(a.answer);
  }
  return list;
}

Json audit_json(const AuditView& a) {
  Json json{{"action", a.action},
            {"fromState", text_or_null(a.from_state)},
            {"toState", text_or_null(a.to_state)},
            {"trigger", a.trigger},
            {"actor", a.actor},
            {"actorType", a.actor_type},
            {"metadata", json_or_null(a.metadata)},
            {"createdAt", format_rfc3339(a.created)}};
  if (a.edited_field.empty()) return json;
  json["before"] = edited_json(a.edited_field, a.before);
  json["after"] = edited_json(a.edited_field, a.after);
  return json;
}

Json problems_json(const Problems& problems) {
  Json list = Json::array();
  for (const auto& p : problems) list.push_back({{"file", p.file}, {"line", p.line}, {"field", p.field}, {"message", p.message}});
  return list;
}

}  // namespace waybill
