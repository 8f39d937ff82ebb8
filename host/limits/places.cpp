// Taking places and giving them back keeps all queues in order.
#include "limits/places.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr std::size_t kAhead = 2;       // so many times the open requests to a host name may be claimed
constexpr std::size_t kMaxIdle = 4096;  // contracts, host names and breakers that no route needs

template <class Map>
auto& shared(Map& map, const typename Map::key_type& key) {
  auto& one = map[key];
  if (!one) one = std::make_shared<typename Map::mapped_type::element_type>();
  return one;
}

template <class Map>
void drop_unused(Map& map, const typename Map::key_type& key) {
  if (const auto at = map.find(key); at->second.use_count() == 1) map.erase(at);
}

template <class Map>
void drop_idle_ones(Map& map) {
  if (map.size() > kMaxIdle) std::erase_if(map, [](const auto& one) { return one.second.use_count() == 1; });
}

// No host name has a blank.
std::string channels_of(OrgId org) { return "channels of " + std::to_string(org.value); }

}  // namespace

Places::Places(const Limits& limits, std::function<std::size_t(const std::string&)> concurrency, Millis quick)
    : limits_(limits), concurrency_(std::move(concurrency)), quick_(quick) {}

// ---- routes ----

KnownRoute* Places::find(Shard shard, RouteId id) {
  auto& routes = shards_[shard];
  const auto at = routes.find(id);
  return at == routes.end() ? nullptr : &at->second;
}

KnownRoute& Places::get(Shard shard, RouteId id, OrgId org) {
  const auto [at, is_new] = shards_[shard].try_emplace(id);
  KnownRoute& route = at->second;
  if (!is_new) return route;
  route.shard = shard;
  route.id = id;
  route.org = shared(orgs_, org);
  route.org->id = org;
  route.org->weight = weight_of(org);
  attach_contract(route);
  return route;
}

KnownRoute& Places::get(Shard shard, const InsertGroup& newest) {
  KnownRoute& route = get(shard, newest.route, newest.org);
  if (!route.contract) learn(route.id, *newest.contract);
  attach_contract(route);
  return route;
}

// Copies the contract, because that of a group inserted just now keeps a whole registry in memory.
void Places::learn(RouteId id, const Contract& contract) {
  if (auto& known = contracts_[id]; !known) known = std::make_shared<const Contract>(contract);
}

bool Places::attach_contract(KnownRoute& route) {
  if (route.contract) return true;
  const auto known = contracts_.find(route.id);
  if (known == contracts_.end()) return false;
  route.contract = known->second;
  const Contract& contract = *route.contract;
  route.rate = rate_of(route.org->id, contract);
  route.target = shared(targets_, {route.org->id, contract.target});
  route.target->org = route.org.get();
  const bool is_of_channel = contract.is_of_channel();
  if (auto& limit = route.target->limiter.limit; limit == Limiter{}.limit) limit = is_of_channel ? 1 : limits_.per_target;
  route.breaker = shared(breakers_, {route.org->id, contract.cooldown_key()});
  route.host_name = shared(host_names_, is_of_channel ? channels_of(route.org->id) : host_name_of(contract.url));
  auto& [open, claimed_ahead] = *route.host_name;
  const std::size_t limit = is_of_channel ? limits_.per_org_channels : limits_.per_host_name;
  if (open.limit != limit) open.limit = claimed_ahead.limit = limit;  // it is new
  route.action_type = shared(action_types_, contract.action_type);
  route.action_type->limit = concurrency_(contract.action_type);
  route.limiters = {&route.target->limiter, &claimed_ahead, route.action_type.get(), &route.breaker->limiter, &open};
  if (contract.policy == Policy::one_shot) std::swap(route.limiters[1], route.limiters[4]);
  return true;
}

Breaker& Places::breaker(OrgId org, const std::string& cooldown_key) { return *shared(breakers_, {org, cooldown_key}); }

void Places::drop_idle(Shard shard, const std::function<void(KnownRoute&)>& look) {
  auto& routes = shards_[shard];
  for (auto at = routes.begin(); at != routes.end();) {
    look(at->second);
    if (!at->second.is_idle()) {
      ++at;
      continue;
    }
    const OrgId org = at->second.org->id;
    const auto contract = at->second.contract;
    at = routes.erase(at);
    if (contract) {
      drop_unused(targets_, {org, contract->target});
      forget_ramp(org, contract->cooldown_key());
      drop_unused(action_types_, contract->action_type);
    }
    drop_unused(orgs_, org);
  }
  drop_idle_ones(contracts_);
  drop_idle_ones(host_names_);
  if (breakers_.size() > kMaxIdle)
    std::erase_if(breakers_, [](const auto& one) { return one.second.use_count() == 1 && !one.second->cooldown; });
}

void Places::forget_ramp(OrgId org, const std::string& cooldown_key) {
  if (const auto& breaker = breakers_.at({org, cooldown_key}); breaker.use_count() == 1 && !breaker->cooldown)
    breaker->limiter.limit = Limiter{}.limit;
}

// ---- queues ----

void Places::move(KnownRoute& route, Ranked<KnownRoute>& queue, Rank at) {
  queue.put(route, at);
  if (route.target) rank(*route.target);
}

void Places::leave(KnownRoute& route) {
  route.position.leave();
  if (route.target) rank(*route.target);
}

// Called whenever its places or its routes change.
void Places::rank(Target& target) {
  target.ready.empty() ? target.position.leave() : target.org->ready.put(target, {target.limiter.used, target.served});
  rank(*target.org);
}

// As many routes as there are places may try again, of each organisation in turn.
void Places::reopen(Limiter& limiter) {
  auto& waiting = limiter.waiting;
  for (std::size_t let_in = 0; limiter.used + let_in < limiter.limit && !waiting.empty();) {
    auto at = waiting.upper_bound(limiter.turn);
    if (at == waiting.end()) at = waiting.begin();
    limiter.turn = at->first;
    if (at->second.empty()) {
      waiting.erase(at);
    } else {
      make_ready(at->second.first());
      ++let_in;
    }
  }
  if (waiting.empty() || limiter.is_full()) limiter.position.leave();
}

void Places::reopen_freed() {
  for (auto at = freed_.begin(); at != freed_.end();) reopen(*(at++)->second);
}

void Places::set_weights(OrgWeights weights) {
  if (weights == weights_) return;
  weights_ = std::move(weights);
  for (const auto& [id, org] : orgs_) {
    org->weight = weight_of(id);
    rank(*org);
  }
}

std::vector<KnownRoute*> Places::set_rates(TargetRates rates) {
  rates_ = std::move(rates);
  return rate_all();
}

std::vector<KnownRoute*> Places::set_rates(OrderedRates rates) {
  if (rates == ordered_) return {};
  ordered_ = std::move(rates);
  return rate_all();
}

std::vector<KnownRoute*> Places::rate_all() {
  std::vector<KnownRoute*> changed;
  for (auto& [shard, routes] : shards_)
    for (auto& [id, route] : routes) {
      const auto rate = route.contract ? rate_of(route.org->id, *route.contract) : route.rate;
      if (rate == route.rate) continue;
      route.rate = rate;
      changed.push_back(&route);
    }
  return changed;
}

// The rate of a channel is read with each claim. A form has none, and its name for a target is no target's. An operator's goes
// before all of these.
std::optional<Rate> Places::rate_of(OrgId org, const Contract& contract) const {
  if (!ordered_.empty())
    if (const auto order = ordered_.find({org, contract.cooldown_key()}); order != ordered_.end()) return order->second;
  const auto found = contract.is_of_channel() || contract.is_of_form() ? rates_.end() : rates_.find(contract.target);
  return found == rates_.end() ? contract.rate : found->second;
}

std::uint32_t Places::weight_of(OrgId org) const {
  const auto weight = weights_.find(org);
  return weight == weights_.end() ? 1 : weight->second;
}

// Looks at the freed limiters only when no organisation is ready. A route that was let in earlier may since have gone to wait at
// another limiter, so that its place is free for others.
Org* Places::next() {
  if (ready_.empty()) reopen_freed();
  return ready_.empty() ? nullptr : &ready_.first();
}

// Start-time fair queuing: the higher an organisation's weight, the less a turn costs it. An organisation that had no work for a
// while has not saved up turns.
void Places::served(Org& org) {
  turn_ = std::max(turn_, org.turn);
  org.turn = turn_ + kMaxOrgWeight / org.weight;
}

// ---- places ----

void Places::take(KnownRoute& route, std::size_t count, std::size_t bytes) {
  bytes_ += bytes;
  route.org->bytes += bytes;
  held_ += count;
  route.org->held += count;
  route.held += count;
  for (Limiter* limiter : route.limiters) limiter->used += count;
  rank(*route.target);
}

void Places::give_back(KnownRoute& route, std::size_t count, std::size_t bytes) {
  bytes = std::min(bytes, route.org->bytes);
  bytes_ -= bytes;
  route.org->bytes -= bytes;
  count = std::min(count, route.held);
  held_ -= count;
  route.org->held -= count;
  route.held -= count;
  if (count == 0) return;
  for (Limiter* limiter : route.limiters) {
    limiter->used -= count;
    if (!limiter->waiting.empty()) freed_.put(*limiter, {});
  }
  rank(*route.target);
}

void Places::set_limit(Limiter& limiter, std::size_t limit) {
  limiter.limit = limit;
  if (!limiter.waiting.empty()) freed_.put(limiter, {});
}

void Places::refresh_action_types() {
  for (auto& [type, limiter] : action_types_) set_limit(*limiter, concurrency_(type));
  reopen_freed();
}

// Beside others that have something under way it stays below half, so that no two hold all.
void Places::adapt_channel(KnownRoute& route, Micros took, bool got_through) {
  Limiter& own = route.target->limiter;
  const bool is_alone = route.host_name->open.used == own.used;
  const auto below_half = std::max<std::size_t>(1, (limits_.per_org_channels - 1) / 2);
  const auto most = is_alone ? limits_.per_channel : std::min(limits_.per_channel, below_half);
  const auto earned = !got_through ? 1 : took <= quick_ ? own.limit + 1 : std::max<std::size_t>(1, own.limit - 1);
  if (const auto limit = std::min(earned, most); limit != own.limit) set_limit(own, limit);
}

void Places::answered(KnownRoute& route, Micros took, bool got_through) {
  if (route.contract->is_of_channel()) return adapt_channel(route, took, got_through);
  const auto limit = limits_.per_host_name * (took <= quick_ ? kAhead : 1);
  if (auto& limiter = route.host_name->claimed_ahead; limiter.limit != limit) set_limit(limiter, limit);
}

// What is claimed ahead of the open requests to its host name was never open.
void Places::note_taken(KnownRoute& route, Clock::Monotonic now) {
  route.breaker->taken.see(std::min(route.breaker->limiter.used, route.host_name->open.limit), now);
}

std::size_t Places::held_of_channels(OrgId org) const {
  const auto at = host_names_.find(channels_of(org));
  return at == host_names_.end() ? 0 : at->second->open.used;
}

Limiter* Places::full(const KnownRoute& route) {
  for (Limiter* limiter : route.checked())
    if (limiter->is_full()) return limiter;
  return nullptr;
}

bool Places::is_next(const KnownRoute& route, bool others_wait) const {
  if (ready_.empty() && !others_wait) return true;
  if (route.target->limiter.used >= (limits_.reserve() > 0 ? kNextToNone : 1)) return false;
  return ready_.empty() || route.org->load() <= ready_.first().load();
}

std::size_t Places::room(const KnownRoute& route) const {
  if (ready_.size() > 1 || route.org->ready.size() > 1 || route.target->ready.size() > 1) return 1;
  std::size_t room = limits_.per_org - route.org->held;
  for (const Limiter* limiter : route.checked()) room = std::min(room, limiter->limit - limiter->used);
  return room;
}

bool Places::fits(const KnownRoute& route, const InsertGroup& inserted) {
  set_limit(*route.action_type, concurrency_(route.contract->action_type));
  const std::size_t count = inserted.count;
  const auto checked = route.checked();
  return std::all_of(checked.begin(), checked.end(),
                     [&](const Limiter* one) { return one->used + count <= one->limit && one->waiting.empty(); }) &&
         held_ + count <= limits_.in_flight && route.org->held + count <= limits_.per_org &&
         (bytes_ == 0 || bytes_ + inserted.bytes <= limits_.in_flight_bytes);
}

}  // namespace waybill
