// Building the answers of the intent routes.
#include "api/intent_json.h"

#include <nlohmann/json.hpp>

#include "api/json_answer.h"

namespace waybill {
namespace {

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
  return dump({{"intent", intent(history.submission)}, {"attempts", attempts_json(history.attempts)}});
}

Response failure_response(const Error& error) {
  if (error.kind != Error::Kind::unavailable)
    return error_response(500, "internal_error", "an unexpected failure; the log has the details");
  Response response = error_response(503, "unavailable", "the database is not available; nothing was acknowledged, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace waybill
