// The arithmetic of the window.
#include "claim/window.h"

#include <algorithm>

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
  std::lock_guard lock(mutex_);
  std::size_t free = std::min(most, left(limits_.in_flight, held_));
  Counts targets, host_names, action_types;  // on top of what is held
  std::unordered_map<OrgId, std::size_t> orgs;
  std::vector<std::pair<RouteId, std::size_t>> given;
  for (const auto& demand : demands) given.emplace_back(demand.route, 0);
  // Rounds of equal parts: what one route cannot use, the next round gives to the others.
  for (bool progress = true; progress && free > 0;) {
    progress = false;
    const std::size_t part = std::max<std::size_t>(1, free / std::max<std::size_t>(1, demands.size()));
    for (std::size_t i = 0; i < demands.size() && free > 0; ++i) {
      const RouteFacts& facts = *demands[i].facts;
      const Contract& contract = *facts.contract;
      const std::string key = target_key(facts);
      const std::size_t ahead = contract.policy == Policy::one_shot ? 1 : kAhead;
      const std::size_t room =
          demands[i].only_expired
              ? std::min({free, part, left(kExpiredAtOnce, given[i].second)})
              : std::min({free, part, left(limits_.per_target, get(targets_, key) + targets[key]),
                          left(limits_.per_org, get(orgs_, facts.org) + orgs[facts.org]),
                          left(limits_.per_host_name * ahead, get(host_names_, facts.host_name) + host_names[facts.host_name]),
                          left(concurrency_(contract.action_type),
                               get(action_types_, contract.action_type) + action_types[contract.action_type])});
      if (room == 0) continue;
      progress = true;
      free -= room;
      given[i].second += room;
      targets[key] += room;
      orgs[facts.org] += room;
      host_names[facts.host_name] += room;
      action_types[contract.action_type] += room;
    }
  }
  std::erase_if(given, [](const auto& share) { return share.second == 0; });
  return given;
}

void Window::hold(RouteId route, const RouteFacts& facts, std::size_t count) {
  std::lock_guard lock(mutex_);
  Held& held = routes_[route];
  if (held.count == 0) held = {target_key(facts), facts.host_name, facts.contract->action_type, facts.org, 0};
  held.count += count;
  held_ += count;
  targets_[held.target_key] += count;
  orgs_[held.org] += count;
  host_names_[held.host_name] += count;
  action_types_[held.action_type] += count;
}

void Window::let_go(RouteId route, std::size_t count) {
  std::lock_guard lock(mutex_);
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
