// The small common parts of requests and responses.
#include "http/http.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_document.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "http/server_url.h"

namespace waybill::http {

namespace {

// Calls `see` with each pair of a query, name decoded and value as sent, until it answers true.
template <class See>
void each_pair(std::string_view query, See see) {
  while (!query.empty()) {
    const auto end = query.find('&');
    const auto pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto name = pair.substr(0, equals);
    const auto value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (see(percent_decode(name, true).value_or(std::string(name)), value)) return;
  }
}

}  // namespace

std::optional<std::string> Request::query_value(std::string_view name) const {
  std::optional<std::string> found;
  each_pair(query, [&](const std::string& one, std::string_view value) {
    // What cannot be decoded is handed on as it is, so that the route refuses it as the value that it is not.
    if (one == name) found = percent_decode(value, true).value_or(std::string(value));
    return found.has_value();
  });
  return found;
}

std::optional<std::string> Request::doubled_parameter() const {
  if (query.find('&') == std::string::npos) return std::nullopt;
  std::set<std::string> names;
  std::optional<std::string> doubled;
  each_pair(query, [&](const std::string& one, std::string_view) {
    if (!names.insert(one).second) doubled = one;
    return doubled.has_value();
  });
  return doubled;
}

std::string Request::query_fault(std::span<const std::string> known, std::string_view kind) const {
  if (query.empty()) return {};
  if (const auto doubled = doubled_parameter()) return "the query has the parameter " + in_quotes(*doubled) + " twice";
  std::string fault;
  each_pair(query, [&](const std::string& name, std::string_view sent) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fault = "there is no " + std::string(kind) + " " + in_quotes(name) + " here" + did_you_mean(name, known);
    } else if (const auto value = percent_decode(sent, true); !value || !is_clean_utf8(*value)) {
      fault = name + " must be percent-encoded UTF-8 without NUL";
    }
    return !fault.empty();
  });
  return fault;
}

Response error_response(int status, std::string_view code, std::string_view message) {
  const Json body = {{"error", {{"code", code}, {"message", message}}}};
  return {.status = status, .body = dump(body), .headers = {}};
}

Response invalid_request(std::string_view message) { return error_response(400, "invalid_request", message); }
Response json_response(int status, std::string body) { return {.status = status, .body = std::move(body)}; }

}  // namespace waybill::http
