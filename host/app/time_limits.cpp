// An attempt ends at its target's `timeout`, or else at timeouts.attempt; within it, a plugin's requests end at its timeout_ms.
#include "app/time_limits.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

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

Problem at_target(const Registry& registry, const std::string& target, std::string message) {
  const auto& place = registry.transports().find(target);
  Problem problem = place == registry.transports().end() ? Problem{} : place->second.place;
  problem.field += ".timeout";
  problem.message = "target \"" + target + "\": " + std::move(message);
  return problem;
}

}  // namespace

Problems time_limit_problems(const Config& config, const Registry& registry) {
  Problems problems;
  const auto beside = config.timeouts.attempt_grace + kBesideAttempt;
  for (const auto& [target, limit] : registry.time_limits())
    if (limit + beside >= config.timeouts.lease)
      problems.push_back(at_target(registry, target,
                                   "an attempt of " + format_duration(limit) + " needs a timeouts.lease of more than " +
                                       format_duration(limit + beside) + "; it is " + format_duration(config.timeouts.lease)));
  return problems;
}

Problems time_limit_warnings(const Config& config, const Registry& registry) {
  Problems warnings;
  for (const auto& [type, settings] : config.senders) {
    const auto own = plugin_limit(config, type);
    if (!own) continue;
    Millis longest = config.timeouts.attempt;
    for (const auto& target : registry.targets()) {
      const auto limit = registry.time_limit(target);
      if (target.action_type != type || !limit) continue;
      longest = std::max(longest, *limit);
      if (*own < *limit)
        warnings.push_back(at_target(registry, target.target,
                                     "its requests end after " + format_duration(*own) + " (senders." + type +
                                         ".timeout_ms), before the " + format_duration(*limit) + " that an attempt may take"));
    }
    if (*own > longest)
      warnings.push_back(config.problem("senders." + type + ".timeout_ms",
                                        "has no effect: an attempt ends after " + format_duration(longest) +
                                            (longest == config.timeouts.attempt ? " (timeouts.attempt)" : "") +
                                            "; give the target a longer `timeout`, or raise timeouts.attempt"));
  }
  return warnings;
}

}  // namespace waybill
