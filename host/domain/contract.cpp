// Contracts: their words, their stored form, and the questions that decide() asks of them.
#include "domain/contract.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {

namespace {

using nlohmann::json;

json stage_json(const StageTerms& stage) {
  json j{{"pipeline", stage.pipeline}, {"state", stage.state}};
  if (stage.timing)
    j["timing"] = {{"delayMs", stage.timing->delay.count()},
                   {"factor", stage.timing->factor},
                   {"maxDelayMs", stage.timing->max_delay.count()}};
  if (!stage.attempts_by_reason.empty()) j["attemptsByReason"] = stage.attempts_by_reason;
  for (const auto& one : stage.needed) j["needed"].push_back({{"at", one.at}, {"type", one.type}});
  return j;
}

std::optional<StageTerms> stage_from(const json& contract) {
  const auto found = contract.find("stage");
  if (found == contract.end()) return std::nullopt;
  StageTerms stage{.pipeline = found->at("pipeline"), .state = found->at("state")};
  if (const auto timing = found->find("timing"); timing != found->end())
    stage.timing = RetryTiming{.kind = RetryTiming::Kind::exponential,
                               .delay = Millis(timing->at("delayMs").get<std::int64_t>()),
                               .factor = timing->at("factor"),
                               .max_delay = Millis(timing->at("maxDelayMs").get<std::int64_t>())};
  stage.attempts_by_reason = found->value("attemptsByReason", std::map<std::string, std::uint32_t>{});
  for (const auto& one : found->value("needed", json::array())) stage.needed.push_back({one.at("at"), one.at("type")});
  return stage;
}

}  // namespace

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::deadline:
      return "deadline";
    case Policy::max_attempts:
      return "max_attempts";
    case Policy::one_shot:
      return "one_shot";
  }
  return "one_shot";
}

std::optional<Policy> policy_from(std::string_view word) {
  for (Policy policy : {Policy::deadline, Policy::max_attempts, Policy::one_shot})
    if (to_string(policy) == word) return policy;
  return std::nullopt;
}

std::string rate_text(const Rate& rate) {
  const char* period = rate.per == std::chrono::hours(1) ? "/h" : rate.per == std::chrono::minutes(1) ? "/m" : "/s";
  return std::to_string(rate.count) + period;
}

std::string host_name_of(const std::string& url) {
  const auto scheme = url.find("://");
  const auto start = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(start, url.find_first_of("/?#", start) - start);
}

bool Contract::is_terminal(std::string_view reason) const {
  return std::find(terminal_outcomes.begin(), terminal_outcomes.end(), reason) != terminal_outcomes.end();
}

bool Contract::is_duplicate(std::string_view reason) const {
  return std::find(duplicate_reasons.begin(), duplicate_reasons.end(), reason) != duplicate_reasons.end();
}

std::uint32_t Contract::attempts_for(std::string_view reason) const {
  if (!stage) return max_attempts;
  const auto found = stage->attempts_by_reason.find(std::string(reason));
  return found == stage->attempts_by_reason.end() ? max_attempts : found->second;
}

std::optional<Timestamp> Contract::deadline(Timestamp created) const {
  if (policy != Policy::deadline) return std::nullopt;
  return created + max_acceptance;
}

std::optional<Rate> rate_from(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || text.size() != slash + 2 || text.front() == '0') return std::nullopt;
  Rate rate;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, rate.count);
  if (error != std::errc{} || end != text.data() + slash || rate.count == 0 || rate.count > kMaxRateCount) return std::nullopt;
  switch (text.back()) {
    case 's':
      rate.per = Seconds(1);
      return rate;
    case 'm':
      rate.per = std::chrono::minutes(1);
      return rate;
    case 'h':
      rate.per = std::chrono::hours(1);
      return rate;
    default:
      return std::nullopt;
  }
}

std::string to_json(const Contract& c) {
  nlohmann::json j{{"target", c.target},
                   {"actionType", c.action_type},
                   {"url", c.url},
                   {"destination", c.destination},
                   {"policy", to_string(c.policy)},
                   {"terminalOutcomes", c.terminal_outcomes},
                   {"duplicateReasons", c.duplicate_reasons}};
  if (c.policy == Policy::deadline) j["maxAcceptanceSeconds"] = c.max_acceptance.count();
  if (c.policy == Policy::max_attempts) j["maxAttempts"] = c.max_attempts;
  if (c.is_of_form()) j["form"] = {{"id", c.form_id}, {"name", c.form_name}};
  if (c.rate) j["rate"] = {{"count", c.rate->count}, {"perMs", c.rate->per.count()}};
  if (c.count_outages) j["countOutages"] = true;
  if (c.is_of_channel()) j["channel"] = c.channel;
  if (c.stage) j["stage"] = stage_json(*c.stage);
  return dump_sorted(j);
}

Result<Contract> contract_from_json(std::string_view json) {
  try {
    const auto read = read_sorted_json(json);
    if (!read) return fail(Error::Kind::bug, "a stored contract cannot be read: " + read.error().what);
    const auto& j = *read;
    const auto policy = policy_from(j.at("policy").get<std::string>());
    if (!policy) return fail(Error::Kind::bug, "a stored contract has an unknown policy");
    const auto form = j.value("form", nlohmann::json::object());
    std::optional<Rate> rate;
    if (const auto at = j.find("rate"); at != j.end()) rate = Rate{at->at("count"), Millis(at->at("perMs").get<std::int64_t>())};
    return Contract{.target = j.at("target"),
                    .action_type = j.at("actionType"),
                    .url = j.at("url"),
                    .destination = j.at("destination"),
                    .policy = *policy,
                    .max_acceptance = Seconds{j.value("maxAcceptanceSeconds", std::int64_t{0})},
                    .max_attempts = j.value("maxAttempts", 0u),
                    .terminal_outcomes = j.at("terminalOutcomes"),
                    .duplicate_reasons = j.at("duplicateReasons"),
                    .form_id = form.value("id", ""),
                    .form_name = form.value("name", ""),
                    .rate = rate,
                    .stage = stage_from(j),
                    .count_outages = j.value("countOutages", false),
                    .channel = j.value("channel", "")};
  } catch (const nlohmann::json::exception& e) {
    return fail(Error::Kind::bug, std::string("a stored contract cannot be read: ") + e.what());
  }
}

}  // namespace waybill
