// A target's contract as it was resolved when a submission came in: where to send, and when to stop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "domain/retry_timing.h"

namespace waybill {

enum class Policy : std::uint8_t { deadline, max_attempts, one_shot };

std::string_view to_string(Policy policy);
std::optional<Policy> policy_from(std::string_view word);

// At most `count` sends in any `per`.
struct Rate {
  std::uint32_t count = 0;
  Millis per{};

  bool operator==(const Rate&) const = default;
};
inline constexpr std::uint32_t kMaxRateCount = 100'000;
// "10/s", "600/m", "5000/h": a count from 1 to kMaxRateCount, and a second, a minute or an hour.
std::optional<Rate> rate_from(std::string_view text);
std::string rate_text(const Rate& rate);

// A value that a stage's result must have, since its pipeline's guards compare it.
struct NeededValue {
  std::string at;    // JSON pointer into the result
  std::string type;  // "number", "string" or "boolean"
  bool operator==(const NeededValue&) const = default;
};

// What an action of a pipeline's state adds to its target's contract.
struct StageTerms {
  std::string pipeline;
  std::string state;
  std::optional<RetryTiming> timing{};                        // none: that of the action type
  std::map<std::string, std::uint32_t> attempts_by_reason{};  // where the last attempt failed for this reason
  std::vector<NeededValue> needed{};
  bool operator==(const StageTerms&) const = default;
};

// The host name of a URL, with its port; empty for an empty URL.
std::string host_name_of(const std::string& url);

struct Contract {
  std::string target;       // the registry's name
  std::string action_type;  // selects the sender plugin
  std::string url;          // http or https
  std::string destination;  // JSON object for the plugin: the url and the target's further fields
  Policy policy = Policy::one_shot;
  Seconds max_acceptance{0};       // policy deadline: all attempts together, counted from the submission's creation
  std::uint32_t max_attempts = 0;  // policy max_attempts
  std::vector<std::string> terminal_outcomes;
  std::vector<std::string> duplicate_reasons;  // the action type's reasons that say "I have this already"
  std::string form_id;                         // of a form's action; else empty, as is the name
  std::string form_name;
  std::optional<Rate> rate{};         // all hosts together
  std::optional<StageTerms> stage{};  // of an action of a pipeline's state
  bool count_outages = false;         // each attempt counts, whatever it met
  std::string channel{};  // an organisation's channel, whose settings are read with each claim; "": the registry's target

  bool operator==(const Contract&) const = default;
  bool is_terminal(std::string_view reason) const;
  bool is_duplicate(std::string_view reason) const;
  bool is_of_form() const { return !form_id.empty(); }
  bool is_of_stage() const { return stage.has_value(); }
  // The attempts that policy max_attempts allows when the last one failed for this reason.
  std::uint32_t attempts_for(std::string_view reason) const;
  bool is_of_channel() const { return !channel.empty(); }  // a tenant wrote its destination, not the operator
  // What cools down together in an outage: a target, or a sender with all its forms, which share a relay or an account.
  std::string cooldown_key() const { return is_of_form() ? "sender:" + action_type : target; }
  // The moment from which acceptance no longer counts; none without policy deadline.
  std::optional<Timestamp> deadline(Timestamp created) const;
};

// The form in which a contract is stored and hashed: JSON with sorted keys. from_json fails only on a damaged database.
std::string to_json(const Contract& contract);
Result<Contract> contract_from_json(std::string_view json);

}  // namespace waybill
