// Mapping errors to replies.
#include "api/error_reply.h"

namespace waybill {
namespace {
constexpr std::string_view kIdempotencyConflict = "idempotency_conflict";
}

http::Response failure_response(const Error& error) {
  if (error.kind != Error::Kind::unavailable)
    return http::error_response(500, "internal_error", "an unexpected failure; the log has the details");
  http::Response response =
      http::error_response(503, "unavailable", "the database is not available; nothing was acknowledged, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

http::Response overload_response() {
  auto response = http::error_response(503, "unavailable", "too many requests wait for the database; try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

http::Response organisation_overload_response() {
  auto response = http::error_response(429, "rate_limited", "too many requests of this organisation wait; try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

http::Response error_reply(const Error& error, Log& log, std::string_view event, std::string_view conflict_code) {
  switch (error.kind) {
    case Error::Kind::invalid:
      return http::invalid_request(error.what);
    case Error::Kind::not_found:
      return http::error_response(404, "not_found", error.what);
    case Error::Kind::conflict:
      return http::error_response(409, conflict_code, error.what);
    case Error::Kind::locked:
      log.error(event, {{"error", error.what}});
      return http::error_response(
          503, "secret_locked",
          "the installation does not have the master key of these secrets; its operator must give it (notify.key)");
    case Error::Kind::unavailable:
    case Error::Kind::bug:
      break;
  }
  log.error(event, {{"error", error.what}});
  return failure_response(error);
}

std::optional<http::Response> submit_refusal(const Result<SubmitResult>& result, const SubmitWords& words, Log& log) {
  if (!result) return error_reply(result.error(), log, words.not_stored, kIdempotencyConflict);
  if (result->how != SubmitResult::How::conflict) return std::nullopt;
  return http::error_response(409, kIdempotencyConflict,
                              std::string(words.reference) + " \"" + result->view.client_ref +
                                  "\" was handed in before with another " + std::string(words.content));
}

}  // namespace waybill
