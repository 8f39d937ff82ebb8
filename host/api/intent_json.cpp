// Building the answers of the intent routes.
#include "api/intent_json.h"

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

using Json = nlohmann::ordered_json;

Json time_or_null(const std::optional<Timestamp>& time) { return time ? Json(format_rfc3339(*time)) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json intent(const SubmissionView& view) {
  Json json{{"intentId", view.client_ref},
            {"submissionTarget", view.target},
            {"createdAt", format_rfc3339(view.created)},
            {"status", view.state}};
  if (view.completed) json["completedAt"] = format_rfc3339(*view.completed);
  if (view.state == "rejected") json["rejectedReason"] = view.reason;
  if (view.state == "exhausted") json["exhaustedReason"] = view.reason;
  return json;
}

}  // namespace

std::string intent_json(const SubmissionView& view) { return dump(intent(view)); }

std::string history_json(const HistoryView& history) {
  Json attempts = Json::array();
  for (const auto& a : history.attempts)
    attempts.push_back({{"attemptNumber", a.number},
                        {"startedAt", format_rfc3339(a.started)},
                        {"finishedAt", time_or_null(a.finished)},
                        {"outcomeStatus", a.outcome},
                        {"outcomeReason", text_or_null(a.reason)},
                        {"error", text_or_null(a.error)}});
  return dump({{"intent", intent(history.submission)}, {"attempts", std::move(attempts)}});
}

Response failure_response(const Error& error) {
  if (error.kind != Error::Kind::unavailable)
    return error_response(500, "internal_error", "an unexpected failure; the log has the details");
  Response response = error_response(503, "unavailable", "the database is not available; nothing was acknowledged, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace waybill
