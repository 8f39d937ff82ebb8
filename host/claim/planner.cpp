// Queues of routes: ready by organisation, waiting at a limit, or later.
#include "claim/planner.h"

#include <algorithm>
#include <limits>

#include "core/decide.h"

namespace waybill {
namespace {

// Work that may be tried once is claimed only when it can start at once: if its host dies, a claim that waits in memory counts as
// sent. Other work is claimed ahead, so that a connection that falls free finds its next request waiting.
constexpr std::size_t kAhead = 2;
constexpr std::size_t kMaxExpired = 100;  // deliveries past their deadline that a share asks for
constexpr std::size_t kMaxUnknown = 1000;
constexpr std::size_t kMaxIdleFacts = 4096;
constexpr std::size_t kRampStart = 4;                          // places of a target that has just recovered
constexpr auto kCursorLife = std::chrono::seconds(1);          // how long a row that was committed out of order may be overlooked
constexpr auto kClockSlack = std::chrono::milliseconds(100);   // more than that is a step of the database's clock
constexpr std::size_t kFirstBodyBytes = std::size_t{1} << 14;  // assumed of a route before its first body is seen

std::size_t left(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }
std::int64_t count_of(Clock::Monotonic moment) { return moment.time_since_epoch().count(); }

}  // namespace

// What one plan() works on.
struct Planner::Planning {
  ClaimPlan plan;
  Moment now;
  std::size_t free = 0, bytes = 0;
  std::vector<Route*> granted;
};

RouteFacts facts_of(OrgId org, std::shared_ptr<const Contract> contract) {
  const std::string& url = contract->url;
  const auto scheme = url.find("://");
  const auto start = scheme == std::string::npos ? 0 : scheme + 3;
  return {org, contract, url.substr(start, url.find_first_of("/?#", start) - start)};
}

Planner::Planner(const Limits& limits, std::function<std::size_t(const std::string&)> concurrency)
    : limits_(limits), concurrency_(std::move(concurrency)) {}

// ---- routes ----

Planner::Route& Planner::route_of(Shard shard, RouteId id, OrgId org_id) {
  const auto [at, is_new] = routes_.try_emplace({shard, id});
  Route& route = at->second;
  if (!is_new) return route;
  Org& org = orgs_[org_id];
  org.id = org_id;
  ++org.routes;
  route.shard = shard;
  route.id = id;
  route.org = &org;
  route.body_bytes = kFirstBodyBytes;
  if (const auto facts = facts_.find(id); facts != facts_.end()) give_facts(route, facts->second);
  return route;
}

void Planner::give_facts(Route& route, std::shared_ptr<const RouteFacts> facts) {
  route.facts = std::move(facts);
  const Contract& contract = *route.facts->contract;
  route.target = &targets_[{route.facts->org, contract.target}];
  route.target->limiter.limit = limits_.per_target;
  route.target->routes.insert(&route);
  route.outage = &outages_.try_emplace({route.facts->org, contract.rest_key()}).first->second;
  route.outage->routes.insert(&route);
  HostName& host_name = host_names_[route.facts->host_name];
  ++host_name.routes;
  for (std::size_t ahead = 0; ahead < kAhead; ++ahead) host_name.limiters[ahead].limit = limits_.per_host_name * (ahead + 1);
  const auto [type, is_new] = action_types_.try_emplace(contract.action_type);
  if (is_new) type->second.limit = concurrency_(contract.action_type);
  auto& [in_order, ahead] = host_name.limiters;
  route.checked = {&route.target->limiter, contract.policy == Policy::one_shot ? &in_order : &ahead, &type->second,
                   &route.outage->limiter};
  route.counted = {&route.target->limiter, &in_order, &ahead, &type->second, &route.outage->limiter};
}

// In every shard that it is known in.
std::vector<std::pair<Shard, Planner::Route*>> Planner::routes_of(RouteId id) {
  std::vector<std::pair<Shard, Route*>> all;
  for (const auto& [shard, fresh] : fresh_until_)
    if (const auto route = routes_.find({shard, id}); route != routes_.end()) all.emplace_back(shard, &route->second);
  return all;
}

// The contract is copied: the newcomers' one keeps a whole registry.
std::shared_ptr<const RouteFacts> Planner::known(const Newcomers& newcomers) {
  auto& facts = facts_[newcomers.route];
  if (!facts)
    facts = std::make_shared<const RouteFacts>(facts_of(newcomers.org, std::make_shared<const Contract>(*newcomers.contract)));
  return facts;
}

void Planner::drop_idle(Shard shard) {
  const auto first = routes_.lower_bound({shard, RouteId{std::numeric_limits<std::int64_t>::min()}});
  for (auto at = first; at != routes_.end() && at->first.first == shard;) {
    Route& route = at->second;
    if (route.due || route.held > 0) {
      ++at;
      continue;
    }
    expired_.erase(&route);
    if (route.facts) {
      const Contract& contract = *route.facts->contract;
      route.target->routes.erase(&route);
      if (route.target->routes.empty()) {
        freed_.erase(&route.target->limiter);
        targets_.erase({route.facts->org, contract.target});
      }
      route.outage->routes.erase(&route);
      if (route.outage->routes.empty() && !route.outage->rest && route.outage->limiter.limit == kNoLimit) {
        freed_.erase(&route.outage->limiter);
        outages_.erase({route.facts->org, contract.rest_key()});
      }
      if (const auto host_name = host_names_.find(route.facts->host_name); --host_name->second.routes == 0) {
        for (auto& limiter : host_name->second.limiters) freed_.erase(&limiter);
        host_names_.erase(host_name);
      }
    }
    if (--route.org->routes == 0) orgs_.erase(route.org->id);
    at = routes_.erase(at);
  }
  if (facts_.size() > kMaxIdleFacts) std::erase_if(facts_, [](const auto& one) { return one.second.use_count() == 1; });
}

const RouteFacts& Planner::facts(Shard shard, RouteId route) const {
  const std::lock_guard lock(mutex_);
  return *routes_.at({shard, route}).facts;
}

// ---- queues ----

void Planner::put_in(Route& route, Queue& place, std::int64_t first) {
  const Key key{first, route.served, route.shard, route.id};
  if (route.place == &place && route.key == key) return;
  take_out(route);
  route.place = &place;
  route.key = key;
  place.emplace(key, &route);
}

void Planner::put_ready(Route& route) {
  Org& org = *route.org;
  const bool was_empty = org.ready.empty();
  put_in(route, org.ready, route.target == nullptr ? 0 : static_cast<std::int64_t>(route.target->limiter.used));
  if (was_empty) ready_orgs_.emplace(key_of(org), &org);
}

void Planner::take_out(Route& route) {
  if (route.place == nullptr) return;
  route.place->erase(route.key);
  if (route.place == &route.org->ready && route.place->empty()) ready_orgs_.erase(key_of(*route.org));
  route.place = nullptr;
}

// Where it belongs by what is known of it. One that waits at a limit goes on waiting.
void Planner::put(Route& route, Moment now) {
  if (!route.due) return take_out(route);
  Moment from = *route.due;
  if (route.outage != nullptr && route.outage->rest) from = std::max(from, route.outage->until);
  if (from > now)
    put_in(route, later_, count_of(from));
  else if (route.place == nullptr || route.place == &later_)
    put_ready(route);
}

void Planner::requeue(Route& route) {
  if (route.place == nullptr || route.place == &later_) return;
  auto node = route.place->extract(route.key);
  std::get<0>(route.key) = static_cast<std::int64_t>(route.target->limiter.used);
  std::get<1>(route.key) = route.served;
  node.key() = route.key;
  route.place->insert(std::move(node));
}

void Planner::requeue(Org& org, OrgKey before) {
  auto node = ready_orgs_.extract(before);
  if (!node) return;
  node.key() = key_of(org);
  ready_orgs_.insert(std::move(node));
}

// ---- places ----

void Planner::take_places(Route& route, std::size_t count) {
  held_ += count;
  route.held += count;
  for (Limiter* limiter : route.counted) limiter->used += count;
  const auto before = key_of(*route.org);
  route.org->held += static_cast<std::int64_t>(count);
  requeue(*route.org, before);
  for (Route* sibling : route.target->routes) requeue(*sibling);
}

void Planner::free_places(Route& route, std::size_t count) {
  count = std::min(count, route.held);
  if (count == 0) return;
  held_ -= count;
  route.held -= count;
  Limiter& ramp = route.outage->limiter;
  if (!route.outage->rest && ramp.limit != kNoLimit) {
    ramp.limit += count;
    if (ramp.limit >= limits_.in_flight) ramp.limit = kNoLimit;
  }
  for (Limiter* limiter : route.counted) {
    limiter->used -= count;
    if (!limiter->waiting.empty()) freed_.insert(limiter);
  }
  const auto before = key_of(*route.org);
  route.org->held -= static_cast<std::int64_t>(count);
  requeue(*route.org, before);
  for (Route* sibling : route.target->routes) requeue(*sibling);
}

Planner::Limiter* Planner::full(const Route& route) const {
  for (Limiter* limiter : route.checked)
    if (limiter->used >= limiter->limit) return limiter;
  return nullptr;
}

// As many routes as there are places may try again, of each organisation in turn.
void Planner::reopen(Limiter& limiter) {
  for (auto places = left(limiter.limit, limiter.used); places > 0 && !limiter.waiting.empty();) {
    auto at = limiter.waiting.upper_bound(limiter.turn);
    if (at == limiter.waiting.end()) at = limiter.waiting.begin();
    limiter.turn = at->first;
    if (at->second.empty()) {
      limiter.waiting.erase(at);
      continue;
    }
    put_ready(*at->second.begin()->second);
    --places;
  }
}

std::size_t Planner::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void Planner::release(Shard shard, RouteId id, std::size_t count, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= std::min(bytes_, bytes);
  if (const auto route = routes_.find({shard, id}); route != routes_.end()) free_places(route->second, count);
}

bool Planner::fits(const Route& route, const Newcomers& newcomers) const {
  const std::size_t count = newcomers.count;
  const bool all_checked = std::all_of(route.checked.begin(), route.checked.end(), [&](const Limiter* limiter) {
    return limiter->used + count <= limiter->limit && limiter->waiting.empty();
  });
  return all_checked && held_ + count <= limits_.in_flight &&
         static_cast<std::size_t>(route.org->held) + count <= limits_.per_org &&
         (bytes_ == 0 || bytes_ + newcomers.bytes <= limits_.in_flight_bytes);
}

bool Planner::admit(Shard shard, const std::vector<Newcomers>& all, Moment now) {
  const std::lock_guard lock(mutex_);
  const auto fresh = fresh_until_.find(shard);
  if (fresh == fresh_until_.end() || now > fresh->second || !ready_orgs_.empty()) return false;
  std::vector<Route*> taken;
  for (const auto& one : all) {
    Route& route = route_of(shard, one.route, one.org);
    if (!route.facts) give_facts(route, known(one));
    const std::string& type = route.facts->contract->action_type;
    action_types_.at(type).limit = concurrency_(type);
    const bool older_waits = route.due && *route.due <= now;
    if (older_waits || route.outage->rest || one.contract->rate || !fits(route, one)) {
      for (std::size_t i = 0; i < taken.size(); ++i) {
        free_places(*taken[i], all[i].count);
        bytes_ -= all[i].bytes;
      }
      return false;
    }
    take_places(route, one.count);
    bytes_ += one.bytes;
    taken.push_back(&route);
  }
  return true;
}

// ---- from when a route may have work ----

std::uint64_t Planner::mark() const {
  const std::lock_guard lock(mutex_);
  return mark_;
}

void Planner::observe(Shard shard, const DueRoutes& due, std::uint64_t mark, Moment now, Moment fresh_until) {
  const std::lock_guard lock(mutex_);
  fresh_until_[shard] = fresh_until;
  std::map<RouteId, const DueRoute*> told;
  for (const auto& one : due.routes) told.emplace_hint(told.end(), one.route, &one);
  const auto first = routes_.lower_bound({shard, RouteId{std::numeric_limits<std::int64_t>::min()}});
  for (auto at = first; at != routes_.end() && at->first.first == shard; ++at) {
    Route& route = at->second;
    if (told.contains(route.id) || route.changed > mark) continue;
    route.due.reset();
    put(route, now);
  }
  for (const auto& [id, one] : told) {
    Route& route = route_of(shard, id, one->org);
    const auto from = now + std::chrono::duration_cast<Moment::duration>(one->first_due - due.now);
    if (route.changed <= mark || !route.due || from < *route.due) route.due = from;
    put(route, now);
    const bool stopped = route.facts && (route.place == &later_ || full(route) != nullptr);
    if (stopped && is_expired(*route.facts->contract, one->first_due, due.now)) expired_.insert(&route);
  }
  drop_idle(shard);
}

void Planner::observe(const Cooldowns& cooldowns, Moment now) {
  const std::lock_guard lock(mutex_);
  std::set<Outage*> down;
  for (const auto& rest : cooldowns.all) {
    Outage& outage = outages_[{rest.org, rest.target}];
    down.insert(&outage);
    const auto until = now + std::chrono::duration_cast<Moment::duration>(rest.until - cooldowns.now);
    const bool is_known = outage.rest == rest && std::chrono::abs(until - outage.until) < kClockSlack;
    if (is_known) continue;
    outage.rest = rest;
    outage.limiter.limit = 1;  // once it is half-open
    outage.until = until;
    for (Route* route : outage.routes) {
      take_out(*route);
      put(*route, now);
    }
  }
  for (auto at = outages_.begin(); at != outages_.end();) {
    Outage& outage = at->second;
    if (outage.rest && !down.contains(&outage)) end(outage, now);
    if (outage.routes.empty() && !outage.rest) {
      freed_.erase(&outage.limiter);
      at = outages_.erase(at);
    } else {
      ++at;
    }
  }
}

void Planner::end(Outage& outage, Moment now) {
  outage.rest.reset();
  outage.limiter.limit = outage.limiter.used + kRampStart;
  freed_.insert(&outage.limiter);
  for (Route* route : outage.routes) put(*route, now);
}

void Planner::recovered(Shard shard, RouteId id, Moment now) {
  const std::lock_guard lock(mutex_);
  const auto route = routes_.find({shard, id});
  if (route == routes_.end() || route->second.outage == nullptr || !route->second.outage->rest) return;
  end(*route->second.outage, now);
}

void Planner::wake(Shard shard, const std::vector<Newcomers>& routes, Moment now) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : routes) {
    Route& route = route_of(shard, one.route, one.org);
    if (!route.facts) give_facts(route, known(one));
    set_due(route, now);
  }
}

void Planner::wake(Shard shard, RouteId id, Moment now) {
  const std::lock_guard lock(mutex_);
  if (const auto route = routes_.find({shard, id}); route != routes_.end()) set_due(route->second, now);
}

void Planner::set_due(Route& route, Moment now) {
  route.changed = ++mark_;
  if (!route.due || now < *route.due) route.due = now;
  put(route, now);
}

void Planner::learn(RouteId id, RouteFacts facts, Moment now) {
  const std::lock_guard lock(mutex_);
  auto& known = facts_[id];
  if (!known) known = std::make_shared<const RouteFacts>(std::move(facts));
  for (const auto& [shard, route] : routes_of(id)) {
    if (!route->facts) give_facts(*route, known);
    put(*route, now);
  }
}

void Planner::skip(RouteId id, Moment until) {
  const std::lock_guard lock(mutex_);
  for (const auto& [shard, route] : routes_of(id)) {
    route->due = until;
    put(*route, until - Moment::duration(1));
  }
}

Planner::Moment Planner::next_due() const {
  const std::lock_guard lock(mutex_);
  if (!expired_.empty()) return {};
  return later_.empty() ? Moment::max() : Moment(Moment::duration(std::get<0>(later_.begin()->first)));
}

// ---- who is next ----

ClaimPlan Planner::plan(std::size_t most, Moment now) {
  const std::lock_guard lock(mutex_);
  while (!later_.empty() && std::get<0>(later_.begin()->first) <= count_of(now)) put(*later_.begin()->second, now);
  refresh_action_types();
  Planning planning{.plan = {}, .now = now, .free = std::min(most, left(limits_.in_flight, held_))};
  planning.plan.bytes = planning.bytes = left(limits_.in_flight_bytes, bytes_);
  plan_expired(planning);
  for (;;) {
    if (ready_orgs_.empty()) {  // who was let in may have gone to wait at another limit
      for (Limiter* limiter : freed_) reopen(*limiter);
      if (ready_orgs_.empty()) break;
    }
    Org& org = *ready_orgs_.begin()->second;
    if (planning.free == 0 || planning.plan.unknown.size() == kMaxUnknown ||
        static_cast<std::size_t>(org.held) >= limits_.per_org)
      break;
    Route& route = *org.ready.begin()->second;
    if (!route.facts) {
      planning.plan.unknown.push_back(route.id);
      take_out(route);
    } else if (Limiter* limiter = full(route)) {
      put_in(route, limiter->waiting[org.id], static_cast<std::int64_t>(route.target->limiter.used));
    } else if (route.body_bytes > planning.bytes && held_ > 0) {
      break;
    } else {
      grant(route, planning);
    }
  }
  std::erase_if(freed_, [](const Limiter* limiter) { return limiter->waiting.empty() || limiter->used >= limiter->limit; });
  for (Route* route : planning.granted) planning.plan.shares[route->shard].push_back(share_of(*route, now));
  return std::move(planning.plan);
}

void Planner::refresh_action_types() {
  for (auto& [type, limiter] : action_types_) {
    limiter.limit = concurrency_(type);
    if (!limiter.waiting.empty()) freed_.insert(&limiter);
  }
  for (Limiter* limiter : freed_) reopen(*limiter);
}

// What cannot start must end all the same when its time is over.
void Planner::plan_expired(Planning& planning) {
  for (Route* route : std::exchange(expired_, {})) {
    if (planning.free == 0) {
      expired_.insert(route);
      continue;
    }
    route->expires = true;
    route->granted = std::min(kMaxExpired, planning.free);
    planning.free -= route->granted;
    take_out(*route);
    take_places(*route, route->granted);
    planning.granted.push_back(route);
  }
}

void Planner::grant(Route& route, Planning& planning) {
  if (route.granted++ == 0) planning.granted.push_back(&route);
  route.planned = mark_;
  --planning.free;
  planning.bytes -= std::min(planning.bytes, route.body_bytes);
  const auto before = key_of(*route.org);
  route.org->served = route.served = ++served_;
  requeue(*route.org, before);
  take_places(route, 1);
}

RouteShare Planner::share_of(Route& route, Moment now) {
  if (now - route.cursor_since > kCursorLife) route.after = {}, route.after_id = {};
  const RouteFacts& facts = *route.facts;
  RouteShare share{.route = route.id, .count = route.granted, .after = route.after, .after_id = route.after_id, .org = facts.org};
  if (route.expires) {
    share.after = {};
    share.after_id = {};
    share.max_age = facts.contract->max_acceptance;
  } else {
    share.rest_key = facts.contract->rest_key();
    share.target = facts.contract->target;
    share.rate = facts.contract->rate;
    share.probe = route.outage->rest.has_value();
    if (share.probe) share.outage_since = route.outage->rest->since;
  }
  return share;
}

void Planner::claimed(Shard shard, const RouteShare& share, std::span<const ClaimedRow* const> rows, Moment now) {
  const std::lock_guard lock(mutex_);
  Route& route = routes_.at({shard, share.route});
  route.granted = 0;
  free_places(route, share.count - rows.size());
  std::size_t largest = 0;
  for (const ClaimedRow* row : rows) {
    bytes_ += row->payload.size();
    largest = std::max(largest, row->body_bytes);
  }
  if (!rows.empty()) route.body_bytes = std::max(largest, route.body_bytes - route.body_bytes / 8);
  const bool had_all = rows.size() == share.count;
  if (std::exchange(route.expires, false)) {
    if (had_all) expired_.insert(&route);
  } else if (had_all) {
    if (route.after_id == DeliveryId{}) route.cursor_since = now;
    route.after = rows.back()->due;
    route.after_id = rows.back()->delivery;
  } else {
    const bool is_empty = share.after_id == DeliveryId{} && route.changed <= route.planned;
    route.after = {};
    route.after_id = {};
    if (is_empty) route.due.reset();  // else it is asked once more, from the beginning
  }
  put(route, now);
}

void Planner::trim(Shard shard, RouteShare& share, std::size_t count) {
  const std::lock_guard lock(mutex_);
  Route& route = routes_.at({shard, share.route});
  free_places(route, share.count - count);
  share.count = count;
}

void Planner::denied(Shard shard, const RouteShare& share, Moment until) {
  const std::lock_guard lock(mutex_);
  Route& route = routes_.at({shard, share.route});
  route.granted = 0;
  route.expires = false;
  free_places(route, share.count);
  route.due = until;
  put(route, until - Moment::duration(1));
}

}  // namespace waybill
