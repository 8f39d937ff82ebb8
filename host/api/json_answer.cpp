// Shared pieces of answers.
#include "api/json_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace waybill {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_string(std::string& json, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  if (plain)
    json.append(1, '"').append(text).append(1, '"');
  else
    json += dump(Json(text));
}

Json time_or_null(const std::optional<Timestamp>& time) { return time ? Json(format_rfc3339(*time)) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_or_null(const std::string& text) {
  auto json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(nullptr) : json;
}

Json edited_json(const std::string& field, const std::string& value) {
  return field == "fields" ? json_or_null(value) : Json(value);
}

Json attempts_json(const std::vector<AttemptView>& attempts) {
  Json list = Json::array();
  for (const auto& a : attempts)
    list.push_back({{"attemptNumber", a.number},
                    {"startedAt", format_rfc3339(a.started)},
                    {"finishedAt", time_or_null(a.finished)},
                    {"outcomeStatus", a.outcome},
                    {"outcomeReason", text_or_null(a.reason)},
                    {"error", text_or_null(a.error)},
                    {"counts", a.counts}});
  return list;
}

Json problems_json(const Problems& problems) {
  Json list = Json::array();
  for (const auto& p : problems) list.push_back({{"file", p.file}, {"line", p.line}, {"field", p.field}, {"message", p.message}});
  return list;
}

}  // namespace waybill
