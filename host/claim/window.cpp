// The arithmetic of the window.
#include "claim/window.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace waybill {
namespace {

// A contract that must not be tried twice is claimed only when it can start at once: a claim that waits in memory when its host
// dies counts as sent. Others are taken ahead, so that a connection that falls free finds its next request waiting.
constexpr std::size_t kAhead = 2;
constexpr std::size_t kExpiredAtOnce = 100;

std::string target_key(const RouteFacts& facts) { return std::to_string(facts.org.value) + "/" + facts.contract->target; }

std::size_t left(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }

template <class Map, class Key>
std::size_t get(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? 0 : at->second;
}

template <class Map, class Key>
void take_from(Map& map, const Key& key, std::size_t count) {
  const auto at = map.find(key);
  if (at == map.end()) return;
  at->second -= std::min(at->second, count);
  if (at->second == 0) map.erase(at);
}

}  // namespace

Window::Window(const Limits& limits, std::function<std::size_t(const std::string&)> concurrency)
    : limits_(limits), concurrency_(std::move(concurrency)) {}

std::vector<std::pair<RouteId, std::size_t>> Window::shares(const std::vector<Demand>& demands, std::size_t most) const {
  struct Want {
    const Demand* demand;
    std::array<std::size_t*, 4> used;  // held and given: of the target, the organisation, the host name, the action type
    std::array<std::size_t, 4> limits;
    std::size_t given = 0;

    bool may_have_more() const {
      if (demand->only_expired) return given < kExpiredAtOnce;
      for (std::size_t i = 0; i < used.size(); ++i)
        if (*used[i] >= limits[i]) return false;
      return true;
    }
  };
  using Turn = std::pair<std::size_t, std::size_t>;  // what it has, and its place in `wants`

  std::lock_guard lock(mutex_);
  Counts targets, host_names, action_types;
  std::unordered_map<OrgId, std::size_t> orgs;
  const auto used = [](auto& now, const auto& held, const auto& key) {
    return &now.try_emplace(key, get(held, key)).first->second;
  };
  std::vector<Want> wants;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;  // who has least is next
  for (const auto& demand : demands) {
    const RouteFacts& facts = *demand.facts;
    const auto held = routes_.find(demand.route);
    turns.emplace(held == routes_.end() ? 0 : held->second.count, wants.size());
    wants.push_back(
        {&demand,
         {used(targets, targets_, target_key(facts)), used(orgs, orgs_, facts.org),
          used(host_names, host_names_, facts.host_name), used(action_types, action_types_, facts.contract->action_type)},
         limits_of(facts)});
  }
  for (std::size_t free = std::min(most, left(limits_.in_flight, held_)); free > 0 && !turns.empty();) {
    const auto [has, place] = turns.top();
    turns.pop();
    Want& want = wants[place];
    if (!want.may_have_more()) continue;  // nor will it later: nothing is given back here
    --free;
    ++want.given;
    for (std::size_t* count : want.used) ++*count;
    turns.emplace(has + 1, place);
  }
  std::vector<std::pair<RouteId, std::size_t>> given;
  for (const auto& want : wants)
    if (want.given > 0) given.emplace_back(want.demand->route, want.given);
  return given;
}

// Of the target, the organisation, the host name, the action type.
std::array<std::size_t, 4> Window::limits_of(const RouteFacts& facts) const {
  const std::size_t ahead = facts.contract->policy == Policy::one_shot ? 1 : kAhead;
  return {limits_.per_target, limits_.per_org, limits_.per_host_name * ahead, concurrency_(facts.contract->action_type)};
}

bool Window::hold_all(const std::vector<Wish>& wishes) {
  std::lock_guard lock(mutex_);
  for (auto wish = wishes.begin(); wish != wishes.end(); ++wish) {
    const RouteFacts& facts = *wish->facts;
    const auto limits = limits_of(facts);
    const std::array used{get(targets_, target_key(facts)), get(orgs_, facts.org), get(host_names_, facts.host_name),
                          get(action_types_, facts.contract->action_type)};
    bool fits = held_ + wish->count <= limits_.in_flight;
    for (std::size_t i = 0; i < used.size(); ++i) fits = fits && used[i] + wish->count <= limits[i];
    if (!fits) {
      for (auto held = wishes.begin(); held != wish; ++held) let_go_locked(held->route, held->count);
      return false;
    }
    hold_locked(wish->route, facts, wish->count);
  }
  return true;
}

void Window::hold(RouteId route, const RouteFacts& facts, std::size_t count) {
  std::lock_guard lock(mutex_);
  hold_locked(route, facts, count);
}

void Window::let_go(RouteId route, std::size_t count) {
  std::lock_guard lock(mutex_);
  let_go_locked(route, count);
}

void Window::hold_locked(RouteId route, const RouteFacts& facts, std::size_t count) {
  Held& held = routes_[route];
  if (held.count == 0) held = {target_key(facts), facts.host_name, facts.contract->action_type, facts.org, 0};
  held.count += count;
  held_ += count;
  targets_[held.target_key] += count;
  orgs_[held.org] += count;
  host_names_[held.host_name] += count;
  action_types_[held.action_type] += count;
}

void Window::let_go_locked(RouteId route, std::size_t count) {
  const auto at = routes_.find(route);
  if (at == routes_.end()) return;
  Held& held = at->second;
  count = std::min(count, held.count);
  held_ -= count;
  take_from(targets_, held.target_key, count);
  take_from(orgs_, held.org, count);
  take_from(host_names_, held.host_name, count);
  take_from(action_types_, held.action_type, count);
  held.count -= count;
  if (held.count == 0) routes_.erase(at);
}

std::size_t Window::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace waybill
