// What the answers of the SES API v2 mean.
#pragma once

#include <nlohmann/json.hpp>

#include "common/http_sender.h"
#include "common/mail_address_rules.h"

namespace waybill::plugins::ses {

struct Complaint {
  std::string type;  // "TooManyRequestsException"
  std::string message;
};

// The type stands in a header or in the body, with a namespace before it or a URL behind it.
inline Complaint complaint_of(const Response& response) {
  std::string ignored;
  const auto answer = parse_object(response.body, ignored);
  const auto text = [&](std::initializer_list<const char*> names) -> std::string {
    for (const auto* name : names)
      if (const auto* value = answer ? field(*answer, name) : nullptr; value && value->is_string())
        return value->get<std::string>();
    return {};
  };
  auto type = std::string(response.header("x-amzn-errortype").value_or(""));
  if (type.empty()) type = text({"__type", "code"});
  type.erase(std::min(type.find_first_of(":,"), type.size()));
  type.erase(0, type.rfind('#') + 1);
  const bool is_name =
      type.size() <= 60 && std::all_of(type.begin(), type.end(), [](char c) { return plugins::detail::is_alnum(c); });
  return {is_name ? type : "", one_line(text({"message", "Message"}))};
}

inline bool begins_with_one_of(std::string_view type, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return type.substr(0, word.size()) == word; });
}

// "Daily message quota exceeded". The quota is that of the last 24 hours, so a little of it is free again all the time.
inline bool tells_of_daily_quota(std::string_view message) {
  return message.find("aily") != std::string_view::npos && message.find("quota") != std::string_view::npos;
}
inline constexpr std::chrono::milliseconds kQuotaRest = std::chrono::minutes(10);

// Whether an answer may be quoted: not if it could repeat a secret that the request's headers had.
enum class Quotes { no, yes };

inline Outcome judge_failure(const Response& response, Quotes quotes) {
  const auto complaint = complaint_of(response);
  const auto& type = complaint.type;
  auto detail = "status " + std::to_string(response.status);
  if (!type.empty()) detail += ' ' + type;
  if (quotes == Quotes::yes && !complaint.message.empty()) detail += ": " + complaint.message;

  const auto everybody = [&](std::string_view reason) { return undecided(response, reason, detail).scope(Scope::whole_target); };
  if (begins_with_one_of(type, {"SendingPaused"})) return everybody("sending_paused");
  if (begins_with_one_of(type, {"AccountSuspended"})) return everybody("account_suspended");
  if (begins_with_one_of(type, {"TooManyRequests", "Throttl", "LimitExceeded"}) && tells_of_daily_quota(complaint.message))
    return everybody("daily_limit").retry_after(std::max(kQuotaRest, response.retry_after.value_or(kQuotaRest)));
  if (begins_with_one_of(type, {"TooManyRequests", "Throttl"}) || response.status == 429) return everybody("rate_limited");
  if (begins_with_one_of(type, {"LimitExceeded"})) return everybody("limit_exceeded");
  if (response.status == 401 || response.status == 403 || begins_with_one_of(type, {"RequestExpired", "IncompleteSignature"}))
    return everybody("unauthorized");
  if (response.status / 100 == 4 && response.status != 408 && response.status != 425)
    return Outcome::rejected(begins_with_one_of(type, {"MessageRejected"}) ? "message_rejected" : "bad_request")
        .reach(response.reach)
        .code(response.status)
        .detail(detail);
  const auto* const reason = response.status / 100 == 5   ? "server_error"
                             : response.status / 100 == 4 ? "try_later"
                                                          : "invalid_answer";
  return undecided(response, reason, detail);
}

inline Outcome judge(const Response& response, Quotes quotes) {
  if (response.status / 100 != 2) return judge_failure(response, quotes);
  std::string problem;
  const auto answer = parse_object(response.body, problem);
  const auto* id = answer ? field(*answer, "MessageId") : nullptr;
  if (!id || !id->is_string() || id->get_ref<const std::string&>().empty())
    return undecided(response, "invalid_answer", "the answer " + (answer ? "has no MessageId" : problem));
  const auto name = one_line(id->get_ref<const std::string&>());
  return Outcome::accepted()
      .reach(response.reach)
      .code(response.status)
      .provider_ref(name)
      .result(Json{{"messageId", name}}.dump());
}

}  // namespace waybill::plugins::ses
