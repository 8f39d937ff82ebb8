// What the answers of GOV.UK Notify mean.
#pragma once

#include <nlohmann/json.hpp>

#include "common/calendar.h"
#include "common/http_sender.h"

namespace waybill::plugins::notify {

// The first of {"errors": [{"error": "ValidationError", "message": "..."}]}.
struct Complaint {
  std::string error;
  std::string message;

  std::string words(int status) const {
    auto out = "status " + std::to_string(status);
    if (!error.empty()) out += " " + error;
    return message.empty() ? out : out + ": " + message;
  }
};

inline Complaint complaint_of(std::string_view body) {
  std::string ignored;
  const auto answer = parse_object(body, ignored);
  const auto* list = answer ? field(*answer, "errors") : nullptr;
  if (!list || !list->is_array() || list->empty() || !list->front().is_object()) return {};
  const auto line = [&](const char* name) {
    const auto* value = field(list->front(), name);
    return value && value->is_string() ? one_line(value->get_ref<const std::string&>()) : std::string{};
  };
  return {line("error"), line("message")};
}

// 403 because the token's time is more than 30 seconds off: "Error: Your system clock must be accurate to within 30 seconds".
inline bool blames_clock(const Response& response) {
  return response.error == NetError::none && response.status == 403 &&
         complaint_of(response.body).message.find("system clock") != std::string::npos;
}

// The time at the other side, as its Date header has it ("Sun, 01 Mar 2026 12:00:00 GMT").
inline std::optional<std::int64_t> their_time(const Response& response) {
  const auto date = response.header("date");
  return date ? parse_http_date(*date) : std::nullopt;
}

inline std::chrono::milliseconds until_midnight(std::int64_t now) {
  constexpr std::int64_t kDay = 86'400;
  return std::chrono::seconds(kDay - (now % kDay + kDay) % kDay);
}

// Any answer but a 2xx, and no answer.
inline Outcome judge_failure(const Response& response, std::int64_t now) {
  if (response.error != NetError::none) return network_failure(response);
  const auto complaint = complaint_of(response.body);
  auto outcome = plugin::judge(response, "bad_request");
  if (blames_clock(response))
    outcome = undecided(response, "clock_skew", {});
  else if (response.status == 429 && complaint.error == "TooManyRequestsError")  // the day's messages are used up
    outcome = undecided(response, "daily_limit", {}).retry_after(until_midnight(now));
  else if (response.status == 429)
    outcome = undecided(response, "rate_limited", {});
  return outcome.detail(complaint.words(response.status));
}

// A failure of a question decides nothing about the notification.
inline Outcome judge_question(const Response& response, std::int64_t now) {
  const bool refused = response.error == NetError::none && response.status / 100 == 4 &&
                       !plugin::blames_target(response.status) && response.status != 408 && response.status != 425;
  if (!refused) return judge_failure(response, now);
  return undecided(response, "invalid_answer", complaint_of(response.body).words(response.status));
}

inline bool answered_well(const Response& response) { return response.error == NetError::none && response.status / 100 == 2; }

inline std::string text_in(const Json& object, const char* name) {
  const auto* value = field(object, name);
  return value && value->is_string() ? value->get<std::string>() : std::string{};
}

inline Outcome judge_sending(const Response& response, std::int64_t now) {
  if (!answered_well(response)) return judge_failure(response, now);
  std::string problem;
  const auto answer = parse_object(response.body, problem);
  const auto id = answer ? one_line(text_in(*answer, "id")) : std::string{};
  if (id.empty()) return undecided(response, "invalid_answer", "the answer " + (answer ? "has no id" : problem));
  return Outcome::accepted()
      .reach(response.reach)
      .code(response.status)
      .provider_ref(id)
      .result(Json{{"notificationId", id}}.dump());
}

}  // namespace waybill::plugins::notify
