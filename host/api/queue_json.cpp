// Writing how the queue is.
#include "api/queue_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"

namespace waybill {
namespace {

template <class Time>
void take(std::optional<Timestamp>& into, const std::optional<Timestamp>& time, Time chosen) {
  if (time) into = into ? chosen(*into, *time) : *time;
}

double in_tenths(double number) { return std::round(number * 10) / 10; }

void append(Json& json, const Backlog& backlog, const EmptyQueue& empty) {
  json["waiting"] = backlog.waiting();
  json["due"] = backlog.due;
  json["scheduled"] = backlog.scheduled;
  json["retries"] = backlog.retries;
  json["collecting"] = backlog.collecting;
  json["claimed"] = backlog.claimed;
  json["oldestDueAt"] = time_or_null(backlog.oldest_due);
  json["nextScheduledAt"] = time_or_null(backlog.next_scheduled);
  json["lastScheduledAt"] = time_or_null(backlog.last_scheduled);
  json["arrivalsPerMinute"] = in_tenths(backlog.arrivals);
  json["endsPerMinute"] = in_tenths(backlog.ends);
  json["emptyAt"] = time_or_null(empty.at);
  json["whyNotEmpty"] = text_or_null(empty.why_not);
}

Json target_json(const TargetBacklog& target, const QueueStanding& standing) {
  Json json{{"org", target.name.org}, {"target", target.name.target}, {"actionType", target.action_type}};
  append(json, target.backlog, empty_queue(target.backlog, standing.is_counted, standing.now));
  json["rate"] = target.backlog.rate ? Json(rate_text(*target.backlog.rate)) : Json(nullptr);
  json["stopped"] = text_or_null(target.backlog.stopped);
  json["stopReason"] = text_or_null(target.stop_reason);
  json["cooldownUntil"] = time_or_null(target.cooldown_until);
  return json;
}

}  // namespace

Backlog whole_of(const QueueStanding& standing) {
  const auto earlier = [](Timestamp a, Timestamp b) { return std::min(a, b); };
  const auto later = [](Timestamp a, Timestamp b) { return std::max(a, b); };
  Backlog whole;
  for (const auto& [name, type, one, reason, until] : standing.targets) {
    whole.due += one.due;
    whole.scheduled += one.scheduled;
    whole.collecting += one.collecting;
    whole.claimed += one.claimed;
    whole.retries += one.retries;
    whole.arrivals += one.arrivals;
    whole.ends += one.ends;
    take(whole.oldest_due, one.oldest_due, earlier);
    take(whole.next_scheduled, one.next_scheduled, earlier);
    take(whole.last_scheduled, one.last_scheduled, later);
  }
  return whole;
}

EmptyQueue empty_queue(const QueueStanding& standing) {
  EmptyQueue whole{standing.now, {}};
  if (!standing.is_counted) return {{}, "it is too long to be counted"};
  for (const auto& target : standing.targets) {
    const auto& backlog = target.backlog;
    if (backlog.waiting() + backlog.claimed == 0) continue;
    const auto one = empty_queue(backlog, true, standing.now);
    if (!one.at) return {{}, target.name.target + " of " + target.name.org + ": " + one.why_not};
    whole.at = std::max(*whole.at, *one.at);
  }
  return whole;
}

Json queue_json(const QueueStanding& standing) {
  Json json{{"readAt", format_rfc3339(standing.now)}, {"isLowerBound", !standing.is_counted}};
  append(json, whole_of(standing), empty_queue(standing));
  json["quarantined"] = standing.quarantined;
  Json reasons = Json::array(), targets = Json::array();
  for (const auto& [reason, count] : standing.reasons) reasons.push_back({{"reason", reason}, {"count", count}});
  for (const auto& target : standing.targets) {
    if (targets.size() == kMaxQueueTargets) break;
    targets.push_back(target_json(target, standing));
  }
  json["scheduledFor"] = {{"lookedAt", standing.retries_looked_at}, {"reasons", std::move(reasons)}};
  json["moreTargets"] = standing.targets.size() > kMaxQueueTargets;
  json["targets"] = std::move(targets);
  return json;
}

}  // namespace waybill
