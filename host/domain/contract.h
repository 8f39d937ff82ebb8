// A target's contract as it was resolved when a submission came in: where to send, and when to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

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
  std::optional<Rate> rate{};  // all hosts together

  bool operator==(const Contract&) const = default;
  bool is_terminal(std::string_view reason) const;
  bool is_duplicate(std::string_view reason) const;
  bool is_of_form() const { return !form_id.empty(); }
  // What cools down together in an outage: a target, or a sender with all its forms, which share a relay or an account.
  std::string cooldown_key() const { return is_of_form() ? "sender:" + action_type : target; }
  // The moment from which acceptance no longer counts; none without policy deadline.
  std::optional<Timestamp> deadline(Timestamp created) const;
};

// The form in which a contract is stored and hashed: JSON with sorted keys. from_json fails only on a damaged database.
std::string to_json(const Contract& contract);
Result<Contract> contract_from_json(std::string_view json);

}  // namespace waybill
