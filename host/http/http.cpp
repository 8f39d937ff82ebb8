// The small common parts of requests and responses.
#include "http/http.h"

#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "http/server_url.h"

namespace waybill::http {

std::optional<std::string> Request::query_value(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const auto equals = pair.find('=');
    if (percent_decode(pair.substr(0, equals), true) != name) continue;
    const auto value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    // What cannot be decoded is handed on as it is, so that the route refuses it as the value that it is not.
    return percent_decode(value, true).value_or(std::string(value));
  }
  return std::nullopt;
}

Response error_response(int status, std::string_view code, std::string_view message) {
  const Json body = {{"error", {{"code", code}, {"message", message}}}};
  return {.status = status, .body = dump(body), .headers = {}};
}

Response invalid_request(std::string_view message) { return error_response(400, "invalid_request", message); }
Response json_response(int status, std::string body) { return {.status = status, .body = std::move(body)}; }

}  // namespace waybill::http
