// What the answers of HappyFox's API 1.1 mean.
#pragma once

#include <nlohmann/json.hpp>

#include "common/http_sender.h"

namespace waybill::plugins::happyfox {

// The id by which the API knows a ticket; empty if there is none.
inline std::string id_of(const Json& ticket) {
  const auto* id = field(ticket, "id");
  return id && id->is_number_integer() ? id->dump() : std::string{};
}

inline Outcome created(const Json& ticket, const Response& response) {
  Json result{{"ticketId", id_of(ticket)}};
  if (const auto* shown = field(ticket, "display_id"); shown && shown->is_string()) result["displayId"] = *shown;
  return Outcome::accepted().reach(response.reach).code(response.status).provider_ref(id_of(ticket)).result(result.dump());
}

// A destination that repeats our login is not quoted.
inline std::string quotable(std::string words) { return words.find("Basic ") == std::string::npos ? words : std::string{}; }

// The first words of {"error": [{"field": ..., "errors": [...]}]}; empty if there are none.
inline std::string complaint(const Json& answer) {
  const auto* list = field(answer, "error");
  if (!list) return {};
  if (list->is_string()) return quotable(one_line(list->get<std::string>()));
  if (!list->is_array() || list->empty() || !list->front().is_object()) return quotable(one_line(list->dump()));
  const auto name = list->front().value("field", Json()), words = list->front().value("errors", Json());
  const auto& first = words.is_array() && !words.empty() ? words.front() : words;
  return quotable(one_line((name.is_string() ? name.get<std::string>() + ": " : "") +
                           (first.is_string() ? first.get<std::string>() : first.dump())));
}

inline Outcome invalid_answer(const Response& response, std::string detail) {
  return Outcome::transient("invalid_answer").reach(response.reach).code(response.status).detail(std::move(detail));
}

// What any answer but a 2xx means. HappyFox lets a whole account rest for ten minutes after too many requests.
inline Outcome judge_failure(const Response& response) {
  if (response.error != NetError::none) return network_failure(response);
  std::string ignored;
  const auto answer = parse_object(response.body, ignored);
  const auto words = answer ? complaint(*answer) : std::string{};
  auto outcome = plugin::judge(response, "invalid_ticket");
  if (response.status == 429) {
    constexpr std::chrono::milliseconds kRest = std::chrono::minutes(10);
    outcome = Outcome::transient("rate_limited").reach(response.reach).code(429).scope(Scope::whole_target);
    outcome.retry_after(std::max(kRest, response.retry_after.value_or(kRest)));
  }
  return outcome.detail("status " + std::to_string(response.status) + (words.empty() ? "" : ": " + words));
}

inline bool answered_well(const Response& response) { return response.error == NetError::none && response.status / 100 == 2; }

inline Outcome judge_creation(const Response& response) {
  if (!answered_well(response)) return judge_failure(response);
  std::string problem;
  const auto answer = parse_object(response.body, problem);
  if (!answer) return invalid_answer(response, "the answer " + problem);
  if (!id_of(*answer).empty()) return created(*answer, response);
  const auto words = complaint(*answer);
  if (words.empty()) return invalid_answer(response, "the answer has no ticket");
  return Outcome::rejected("invalid_ticket").reach(response.reach).code(response.status).detail(words);
}

// The tickets of a search, {"page_info": ..., "data": [...]}, alone or as the only entry of a list; none if it is no such answer.
inline std::optional<Json> found_tickets(const Response& response) {
  if (nests_too_deep(response.body)) return std::nullopt;
  auto answer = read_json(response.body);
  if (answer.is_array() && answer.size() == 1) answer = Json(answer.front());
  const auto* data = answer.is_object() ? field(answer, "data") : nullptr;
  return data && data->is_array() ? std::optional<Json>(*data) : std::nullopt;
}

}  // namespace waybill::plugins::happyfox
