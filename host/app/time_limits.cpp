// An attempt ends at its target's `timeout`, or else at timeouts.attempt; within it, a plugin's requests end at its timeout_ms.
#include "app/time_limits.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/duration.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

constexpr Millis kBesideAttempt{1000};  // of a lease, beside the attempt and its grace

// The plugin's own limit, where `senders` states it.
std::optional<Millis> plugin_limit(const Config& config, const std::string& type) {
  const auto found = config.senders.find(type);
  if (found == config.senders.end()) return std::nullopt;
  const auto settings = read_json(found->second);
  if (!settings || !settings->is_object()) return std::nullopt;
  const auto limit = settings->find("timeout_ms");
  if (limit == settings->end() || !limit->is_number_integer()) return std::nullopt;
  return Millis{limit->get<std::int64_t>()};
}

// A limit that a target or an action states for its attempts.
struct StatedLimit {
  std::string action_type;
  Millis limit{};
  Problem place{};                                   // with the beginning of a message: whose it is
  std::optional<Seconds> acceptance = std::nullopt;  // of policy deadline: of all attempts together

  Problem says(const std::string& words) const {
    Problem problem = place;
    problem.message += words;
    return problem;
  }
};

std::vector<StatedLimit> limits_of_targets(const Registry& registry) {
  std::vector<StatedLimit> all;
  for (const auto& [target, limit] : registry.time_limits()) {
    const auto at = registry.transports().find(target);
    const auto* contract = registry.find(target);
    if (contract == nullptr) continue;
    StatedLimit one{.action_type = contract->action_type, .limit = limit};
    if (at != registry.transports().end()) one.place = at->second.place;
    one.place.field += ".timeout";
    one.place.message = "target \"" + target + "\": ";
    if (contract->policy == Policy::deadline) one.acceptance = contract->max_acceptance;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<StatedLimit> limits_of_actions(const Registry& registry) {
  std::vector<StatedLimit> all;
  for (const auto& action : registry.action_limits()) {
    const auto* target = action.state.empty() ? nullptr : registry.find(action.action);
    StatedLimit one{.action_type = target ? target->action_type : action.action, .limit = action.limit, .place = action.place};
    one.place.message = action.state.empty() ? "form \"" + action.owner + "\", " + action.action + ": "
                                             : "pipeline \"" + action.owner + "\", " + action.state + ": ";
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<StatedLimit> stated_limits(const Registry& registry) {
  auto all = limits_of_targets(registry);
  auto more = limits_of_actions(registry);
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

// What a stop of the host, or the contract, leaves of a stated limit.
void warn_of_ends(const Config& config, const StatedLimit& one, Problems& warnings) {
  if (one.limit > config.timeouts.drain)
    warnings.push_back(one.says("an attempt of " + format_duration(one.limit) + " is cut when its host stops, which waits for " +
                                format_duration(config.timeouts.drain) + " (timeouts.drain)"));
  if (one.acceptance && one.limit > *one.acceptance)
    warnings.push_back(one.says("an attempt of " + format_duration(one.limit) + " is cut by its maxAcceptanceSeconds, " +
                                format_duration(*one.acceptance)));
}

}  // namespace

Problems time_limit_problems(const Config& config, const Registry& registry) {
  Problems problems;
  const auto beside = config.timeouts.attempt_grace + kBesideAttempt;
  for (const auto& one : stated_limits(registry))
    if (one.limit + beside >= config.timeouts.lease)
      problems.push_back(one.says("an attempt of " + format_duration(one.limit) + " needs a timeouts.lease of more than " +
                                  format_duration(one.limit + beside) + "; it is " + format_duration(config.timeouts.lease)));
  return problems;
}

Problems time_limit_warnings(const Config& config, const Registry& registry) {
  Problems warnings;
  const auto stated = stated_limits(registry);
  for (const auto& one : stated) warn_of_ends(config, one, warnings);
  for (const auto& [type, settings] : config.senders) {
    const auto own = plugin_limit(config, type);
    if (!own) continue;
    Millis longest = config.timeouts.attempt;
    for (const auto& one : stated) {
      if (one.action_type != type) continue;
      longest = std::max(longest, one.limit);
      if (*own < one.limit)
        warnings.push_back(one.says("its requests end after " + format_duration(*own) + " (senders." + type +
                                    ".timeout_ms), before the " + format_duration(one.limit) + " that an attempt may take"));
    }
    if (*own > longest)
      warnings.push_back(config.problem("senders." + type + ".timeout_ms",
                                        "has no effect: an attempt ends after " + format_duration(longest) +
                                            (longest == config.timeouts.attempt ? " (timeouts.attempt)" : "") +
                                            "; give the target or action a longer `timeout`, or raise timeouts.attempt"));
  }
  return warnings;
}

}  // namespace waybill
