// How errors look to a client, for all surfaces: 400, 404, 409, 500 and 503.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "http/http.h"
#include "store/submissions/submission_view.h"
#include "telemetry/log.h"

namespace waybill {

// 503 `unavailable` when trying again may help, else 500 `internal_error`.
http::Response failure_response(const Error& error);

// 503 with Retry-After: too much waits already. And 429: most of what waits is the caller's own organisation's.
http::Response overload_response();
http::Response organisation_overload_response();

// 400, 404 or 409 for what the client can mend; anything else is logged as `event` and answered as failure_response() says.
http::Response error_reply(const Error& error, Log& log, std::string_view event, std::string_view conflict_code = "conflict");

// What a surface calls its submissions.
struct SubmitWords {
  std::string_view reference;   // the field with the client's reference: "intentId"
  std::string_view content;     // what a repetition must have in common with the first: "submissionTarget or payload"
  std::string_view not_stored;  // the event of the log
};
// The reply to a submission that was not accepted for delivery; none if it was, now or before.
std::optional<http::Response> submit_refusal(const Result<SubmitResult>& result, const SubmitWords& words, Log& log);

}  // namespace waybill
