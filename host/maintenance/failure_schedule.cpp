// Ticks of the schedule, by the database's clock.
#include "maintenance/failure_schedule.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr auto kWrongClock = std::chrono::hours(7 * 24);  // a tick that lies further ahead was read from a clock that went wrong

}  // namespace

FailureSchedule::FailureSchedule(const std::string& of_cron, const std::string& time_zone) : text_(of_cron + " " + time_zone) {
  const auto schedule = parse_cron(of_cron);
  const auto zone = TimeZone::find(time_zone);
  if (!schedule || !zone) return;  // "never": the configuration was checked when it was read
  schedule_ = *schedule;
  zone_ = *zone;
}

FailureSchedule::FailureSchedule(const std::string& text)
    : FailureSchedule(text.substr(0, text.rfind(' ')), text.substr(text.rfind(' ') + 1)) {}

Result<std::string> FailureSchedule::other(FailureCheckStore& store) const {
  const auto state = store.state();
  TRY(state);
  return state->newest.value_or(text_) == text_ ? "" : *state->newest;
}

// What is due is run before it is planned anew, unless nothing is to be run any more.
Result<FailureCheckState> FailureSchedule::planned(FailureCheckStore& store) const {
  auto state = store.state();
  if (!state) return state;
  const bool was_wrong = state->last_tick && *state->last_tick > state->now + kWrongClock;
  const bool is_due = state->next && *state->next <= state->now;
  const bool is_anothers = state->newest && *state->newest != text_;
  if (!was_wrong && (state->schedule == text_ || is_anothers || (is_due && schedule_))) return state;
  std::optional<Timestamp> next;
  if (schedule_)
    next = next_after(*schedule_, was_wrong ? state->now : std::max(state->now, state->last_tick.value_or(state->now)), *zone_);
  TRY(store.plan(text_, next, *state));
  return store.state();
}

Result<bool> FailureSchedule::is_wanted(FailureCheckStore& store) const {
  const auto state = planned(store);
  TRY(state);
  return state->is_free && (state->tick || (schedule_ && state->next && *state->next <= state->now));
}

Result<std::optional<FailureCheck>> FailureSchedule::take(FailureCheckStore& store, const std::string& host) const {
  const auto state = planned(store);
  TRY(state);
  if (!schedule_ || !state->next || *state->next > state->now) return store.resume(host);
  const FailureSchedule of_plan(state->schedule.value_or(text_));
  const FailureSchedule& holds = of_plan.schedule_ ? of_plan : *this;
  return store.begin(*state, holds.latest(state->now, *state->next), next_after(*holds.schedule_, state->now, *holds.zone_),
                     host);
}

Timestamp FailureSchedule::latest(Timestamp now, Timestamp first_missed) const {
  for (const auto hours : {1, 24, 7 * 24, 32 * 24, 366 * 24}) {
    auto tick = next_after(*schedule_, now - std::chrono::hours(hours), *zone_);
    if (tick > now) continue;
    for (auto next = tick; next <= now; next = next_after(*schedule_, next, *zone_)) tick = next;
    return std::max(tick, first_missed);
  }
  return first_missed;
}

}  // namespace waybill
