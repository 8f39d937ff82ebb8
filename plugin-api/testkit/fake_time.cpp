// The clock that only the test turns, its timers, and the order in which things come due.
#include "world.h"

namespace waybill::testkit {
namespace {

std::int64_t monotonic_ms(const wb_host* host) { return world_of(host).now_ms; }
std::int64_t unix_seconds_of(const World& world) { return (world.unix_at_zero_ms + world.now_ms) / 1000; }
std::int64_t unix_seconds(const wb_host* host) { return unix_seconds_of(world_of(host)); }
std::uint64_t after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  return world_of(host).after(call, delay_ms, fire, user);
}
void cancel(const wb_host* host, std::uint64_t timer) {
  if (world_of(host).on_own_thread("cancelling a timer")) world_of(host).timers.erase(timer);
}

constexpr wb_timer_service kService = {&monotonic_ms, &unix_seconds, &after, &cancel};

template <class Map>
typename Map::iterator earliest(Map& map) {
  auto first = map.begin();
  for (auto it = map.begin(); it != map.end(); ++it)
    if (it->second.due < first->second.due) first = it;
  return first;
}

}  // namespace

const wb_timer_service* timer_service() { return &kService; }

std::uint64_t World::after(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  if (!on_own_thread("after")) return 0;
  const auto number = next_number++;
  if (is_open(call.id))
    timers.emplace(number, Timer{call.id, fire, user, {now_ms + std::max<std::int64_t>(delay_ms, 0), number}});
  else
    breach() << "a timer was asked for on behalf of call " << call.id << ", which is not open";
  return number;
}

void World::run_until(std::int64_t time_ms) {
  constexpr int kMaxSteps = 1'000'000;
  for (int step = 0; step < kMaxSteps; ++step) {
    take_arrivals();
    const auto exchange = earliest(exchanges);
    const auto timer = earliest(timers);
    const bool network_first = exchange != exchanges.end() && (timer == timers.end() || exchange->second.due < timer->second.due);
    if (network_first && exchange->second.due.at <= time_ms) {
      now_ms = std::max<std::int64_t>(now_ms, exchange->second.due.at);
      deliver(exchange->first);
    } else if (!network_first && timer != timers.end() && timer->second.due.at <= time_ms) {
      now_ms = std::max<std::int64_t>(now_ms, timer->second.due.at);
      const auto ringing = timer->second;
      timers.erase(timer);
      ringing.fire(ringing.user);
    } else {
      now_ms = std::max<std::int64_t>(now_ms, time_ms);
      return;
    }
  }
  breach() << "still not idle after " << kMaxSteps << " steps: does a timer start itself again with no delay?";
}

void FakeHost::set_unix_seconds(std::int64_t seconds) { world_->unix_at_zero_ms = seconds * 1000 - world_->now_ms; }
std::int64_t FakeHost::unix_seconds() const { return unix_seconds_of(*world_); }

}  // namespace waybill::testkit
