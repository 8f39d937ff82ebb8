// How exchanges end: as scripted, by an abort, in time, or with their call. And what falls due next.
#include "timeline.h"

#include <algorithm>
#include <limits>

namespace waybill::fake_host {
namespace {

bool is_before(const Due& a, const Due& b) { return a.at != b.at ? a.at < b.at : a.sequence < b.sequence; }

template <class Map>
auto earliest(Map& map, TieOrder ties = TieOrder::first_first) {
  return std::min_element(map.begin(), map.end(), [&](const auto& a, const auto& b) {
    const auto &left = a.second.due, &right = b.second.due;
    return left.at == right.at && ties == TieOrder::last_first ? is_before(right, left) : is_before(left, right);
  });
}

}  // namespace

void Timeline::begin(std::uint64_t number, Exchange exchange, std::uint32_t timeout_ms, std::optional<std::int64_t> deadline_at) {
  const auto now = now_ms();
  exchange.due = {now, number};
  if (!deadline_at) {
    overrule(exchange, WB_NET_CANCELLED, "the call has ended");
    exchange.ending.reach = WB_NOT_SENT;
  } else {
    const auto limit = timeout_ms == 0 ? *deadline_at : std::min<std::int64_t>(*deadline_at, now + timeout_ms);
    const auto ends_at = exchange.ending.never ? std::numeric_limits<std::int64_t>::max() : now + exchange.ending.after.count();
    exchange.due.at = std::min(ends_at, limit);
    if (ends_at > limit) overrule(exchange, WB_NET_TIMEOUT, "no answer in time");
  }
  exchanges_.emplace(number, std::move(exchange));
}

// How far an overruled exchange got is what the script says of one that never gets an answer; else it is unknown.
void Timeline::overrule(Exchange& exchange, wb_net_error error, const char* words) {
  auto& ending = exchange.ending;
  const auto reach = ending.never || ending.error != WB_NET_OK ? ending.reach : WB_MAYBE_SENT;
  ending = {error, reach, words, {}, ending.never};
  exchange.overruled = true;
}

bool Timeline::abort(Protocol protocol, std::uint64_t number) {
  const auto found = exchanges_.find(number);
  if (found == exchanges_.end() || found->second.protocol != protocol) return false;
  overrule(found->second, WB_NET_CANCELLED, "aborted");
  found->second.due = {now_ms(), next_number()};
  return true;
}

void Timeline::start_timer(std::uint64_t number, std::uint64_t call, std::int64_t delay_ms, std::function<void()> fire) {
  timers_.emplace(number, Timer{call, std::move(fire), {now_ms() + std::max<std::int64_t>(delay_ms, 0), number}});
}

void Timeline::end_call(std::uint64_t call) {
  for (auto& [number, exchange] : exchanges_)
    if (exchange.call == call) {
      overrule(exchange, WB_NET_CANCELLED, "the call has ended");
      exchange.due = {now_ms(), next_number()};
    }
  for (auto it = timers_.begin(); it != timers_.end();) it = it->second.call == call ? timers_.erase(it) : std::next(it);
}

bool Timeline::step(std::int64_t limit_ms) {
  const auto exchange = earliest(exchanges_, ties_);
  const auto timer = earliest(timers_);
  const bool is_exchange =
      exchange != exchanges_.end() && (timer == timers_.end() || is_before(exchange->second.due, timer->second.due));
  if (!is_exchange && timer == timers_.end()) return false;
  const auto due = is_exchange ? exchange->second.due : timer->second.due;
  if (due.at > limit_ms) return false;
  advance_to(due.at);
  if (is_exchange) {
    const auto node = exchanges_.extract(exchange);
    node.mapped().deliver(node.mapped());
  } else {
    const auto node = timers_.extract(timer);
    node.mapped().fire();
  }
  return true;
}

void Timeline::advance_to(std::int64_t ms) { now_ms_ = std::max(now_ms(), ms); }

std::size_t Timeline::open_exchanges(Protocol protocol) const {
  return static_cast<std::size_t>(
      std::count_if(exchanges_.begin(), exchanges_.end(), [&](const auto& entry) { return entry.second.protocol == protocol; }));
}

bool Timeline::holds_any_of(std::uint64_t call) const {
  const auto is_of_call = [&](const auto& entry) { return entry.second.call == call; };
  return std::any_of(exchanges_.begin(), exchanges_.end(), is_of_call) || std::any_of(timers_.begin(), timers_.end(), is_of_call);
}

}  // namespace waybill::fake_host
