// What is observed of routes decides when they are ready; of those that are ready, places are given to who holds least.
#include "limits/planner.h"

#include <algorithm>
#include <limits>

#include "domain/decide.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxUnknown = 1000;
constexpr std::size_t kRampStart = 4;                         // places at least of a target that has just recovered
constexpr std::size_t kRampGrowth = 3;                        // places more for each delivery that got through then
constexpr auto kShortOutage = std::chrono::minutes(1);        // after it, half of what the target took before may go at once
constexpr auto kCursorLife = std::chrono::seconds(1);         // how long a row that was committed out of order may be overlooked
constexpr auto kClockSlack = std::chrono::milliseconds(100);  // more than that is a step of the database's clock

// A moment before the machine's start, such as the end of an old cooldown, is past, and not in a far future.
Rank rank_of(Clock::Monotonic moment) {
  return {static_cast<std::uint64_t>(std::max<Clock::Monotonic::rep>(moment.time_since_epoch().count(), 0)), 0};
}
Clock::Monotonic moment_of(Rank rank) { return Clock::Monotonic(Clock::Monotonic::duration(rank.first)); }
bool is_half_open(const Breaker& breaker) { return breaker.cooldown && breaker.limiter.limit > 0; }
std::size_t mean_bytes(const InsertGroup& group) { return group.bytes / std::max<std::size_t>(group.count, 1); }

// Of bodies that take their places now.
void note_bodies(KnownRoute& route, std::size_t large) {
  route.body_bytes = std::max(large, route.body_bytes - route.body_bytes / 8);
}

}  // namespace

// What one plan() works on.
struct Planner::Planning {
  std::size_t free, bytes;  // that are left
  ClaimPlan plan{};
  std::vector<KnownRoute*> granted{};
  // While an organisation waits for bytes, only those that hold fewer than it get any: so it gets them when they fall free.
  std::vector<Org*> short_of_bytes{};
  std::size_t bytes_below = std::numeric_limits<std::size_t>::max();
};

Planner::Planner(const Limits& limits, std::function<std::size_t(const std::string&)> concurrency, Millis quick)
    : limits_(limits), places_(limits, std::move(concurrency), quick) {}

// ---- from when a route may have work ----

std::uint64_t Planner::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

void Planner::observe(Shard shard, const DueRoutes& due, std::uint64_t revision, Moment now, Moment fresh_until) {
  const std::lock_guard lock(mutex_);
  fresh_until_[shard] = fresh_until;
  ++revision_;
  for (const auto& one : due.routes) {
    KnownRoute& route = places_.get(shard, one.route, one.org);
    const auto from = now + std::chrono::duration_cast<Moment::duration>(one.first_due - due.now);
    if (route.observed <= revision || !route.due || from < *route.due) route.due = from;
    route.observed = revision_;
    put(route, now);
    // With a rate the expired would use up the permits of those that can still be sent.
    const bool is_stopped = route.contract && (route.position.queue() == &later_ || route.rate || Places::full(route) != nullptr);
    if (is_stopped && is_expired(*route.contract, one.first_due, due.now)) expired_.insert(&route);
  }
  places_.drop_idle(shard, [&](KnownRoute& route) {
    if (route.observed <= revision) route.due.reset();
    if (!route.due) places_.leave(route);
    if (route.is_idle()) expired_.erase(&route);
  });
}

void Planner::observe(const Cooldowns& cooldowns, Moment now) {
  const std::lock_guard lock(mutex_);
  ++revision_;
  for (const auto& cooldown : cooldowns.all) {
    Breaker& breaker = places_.breaker(cooldown.org, cooldown.target);
    const auto until = now + std::chrono::duration_cast<Moment::duration>(cooldown.until - cooldowns.now);
    breaker.observed = revision_;
    if (!breaker.cooldown) breaker.taken_before = breaker.taken.most(now);
    if (breaker.cooldown == cooldown && std::chrono::abs(until - breaker.until) < kClockSlack) continue;
    breaker.cooldown = cooldown;
    breaker.until = until;
    places_.set_limit(breaker.limiter, 0);
    down_.put(breaker, rank_of(until));
  }
  std::vector<Breaker*> over;
  for (const auto& [rank, breaker] : down_)
    if (breaker->observed != revision_) over.push_back(breaker);
  for (Breaker* breaker : over) recover(*breaker, cooldowns.now - breaker->cooldown->since, now);
}

void Planner::allow_one_probe(Breaker& half_open) {
  const std::size_t from_before = half_open.limiter.used - std::min(half_open.limiter.used, half_open.probes);
  places_.set_limit(half_open.limiter, from_before + 1);
}

// It begins with half of what the target took before, and with half of that again for each minute that it was away.
void Planner::recover(Breaker& breaker, Micros away, Moment now) {
  const Cooldown cooldown = *std::exchange(breaker.cooldown, {});
  const auto halvings = 1 + std::clamp<Micros::rep>(away / kShortOutage, 0, std::numeric_limits<std::size_t>::digits - 2);
  breaker.position.leave();
  breaker.recovered_at = now;
  places_.set_limit(breaker.limiter, breaker.limiter.used + std::max(kRampStart, breaker.taken_before >> halvings));
  places_.forget_ramp(cooldown.org, cooldown.target);
}

// What gets through lets more go. What was under way at the recovery takes along the place that it had beside the ramp.
void Planner::ramp(Breaker& breaker, const Finished& one) {
  std::size_t limit = breaker.limiter.limit;
  if (limit >= limits_.in_flight) return;
  if (one.job.claimed_mono < breaker.recovered_at && limit > 1) --limit;
  if (one.how == Finished::How::attempted && clears_target(*one.outcome)) limit += kRampGrowth;
  if (limit != breaker.limiter.limit) places_.set_limit(breaker.limiter, limit);
}

void Planner::observe(OrgWeights weights) {
  const std::lock_guard lock(mutex_);
  places_.set_weights(std::move(weights));
}

void Planner::observe(TargetRates rates, Moment now) {
  const std::lock_guard lock(mutex_);
  for (KnownRoute* route : places_.set_rates(std::move(rates)))
    if (route->due) set_due(*route, now);
}

void Planner::observe(OrderedRates rates, Moment now) {
  const std::lock_guard lock(mutex_);
  for (KnownRoute* route : places_.set_rates(std::move(rates)))
    if (route->due) set_due(*route, now);
}

void Planner::wake(Shard shard, const std::vector<InsertGroup>& routes, Moment now) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : routes) {
    KnownRoute& route = places_.get(shard, one);
    route.body_bytes = std::max(route.body_bytes, mean_bytes(one));
    set_due(route, now);
  }
}

void Planner::learn(RouteId route, const Contract& contract) {
  const std::lock_guard lock(mutex_);
  places_.learn(route, contract);
}

void Planner::skip(RouteId id, Moment until) {
  const std::lock_guard lock(mutex_);
  for (auto at = unknown_.begin(); at != unknown_.end();)
    if (KnownRoute& route = *(at++)->second; route.id == id) postpone(route, until);
}

void Planner::set_due(KnownRoute& route, Moment now) {
  route.observed = ++revision_;
  if (!route.due || now < *route.due) route.due = now;
  put(route, now);
}

void Planner::postpone(KnownRoute& route, Moment until) {
  route.due = until;
  places_.move(route, later_, rank_of(until));
}

// Where it belongs by what is known of it. One that waits for a place goes on waiting.
void Planner::put(KnownRoute& route, Moment now) {
  const auto* queue = route.position.queue();
  if (!route.due)
    places_.leave(route);
  else if (*route.due > now)
    postpone(route, *route.due);
  else if (!route.contract)
    unknown_.put(route, {});
  else if (queue == nullptr || queue == &later_ || queue == &unknown_)
    places_.make_ready(route);
}

Planner::Moment Planner::next_due() const {
  const std::lock_guard lock(mutex_);
  if (!expired_.empty() && places_.free() > 0) return {};
  Moment next = Moment::max();
  if (!later_.empty()) next = moment_of(later_.first_rank());
  if (!down_.empty()) next = std::min(next, moment_of(down_.first_rank()));
  return next;
}

// ---- who is next ----

ClaimPlan Planner::plan(std::size_t most, Moment now) {
  const std::lock_guard lock(mutex_);
  Planning planning{std::min(most, places_.free()), places_.free_bytes()};
  planning.plan.bytes = planning.bytes;
  plan_what_falls_due(now);
  plan_expired(planning);
  for (auto at = unknown_.begin(); at != unknown_.end() && planning.plan.unknown.size() < kMaxUnknown;)
    if (KnownRoute& route = *(at++)->second; places_.attach_contract(route))
      put(route, now);
    else
      planning.plan.unknown.push_back(route.id);
  while (planning.free > 0 && planning.bytes_below > 0) {
    Org* org = places_.next();
    if (org == nullptr) break;
    plan_next(*org, planning);
  }
  for (Org* org : planning.short_of_bytes) places_.rank(*org);
  for (KnownRoute* route : planning.granted) planning.plan.shares[route->shard].push_back(share_of(*route, now));
  return std::move(planning.plan);
}

void Planner::plan_what_falls_due(Moment now) {
  while (!later_.empty() && later_.first_rank() <= rank_of(now)) put(later_.first(), now);
  while (!down_.empty() && down_.first_rank() <= rank_of(now)) {
    Breaker& half_open = down_.first();
    allow_one_probe(half_open);
    down_.put(half_open, rank_of(Moment::max()));
  }
  places_.refresh_action_types();
}

// What cannot start must end all the same when its time is over. It is not sent, so only what is free bounds it: half of that if
// others are ready.
void Planner::plan_expired(Planning& planning) {
  for (KnownRoute* route : expired_) places_.leave(*route);
  std::size_t left = expired_.empty() || places_.next() == nullptr ? planning.free : (planning.free + 1) / 2;
  while (left > 0 && !expired_.empty()) {
    KnownRoute& route = **expired_.begin();
    const std::size_t share = std::max<std::size_t>(1, left / expired_.size());
    expired_.erase(expired_.begin());
    route.expires = true;
    route.granted = share;
    left -= share;
    planning.free -= share;
    places_.take(route, share, 0);
    planning.granted.push_back(&route);
  }
}

// A place for the route that is next in the organisation, or the reason why it gets none.
void Planner::plan_next(Org& org, Planning& planning) {
  KnownRoute& route = org.ready.first().ready.first();
  if (Limiter* limiter = Places::full(route)) return places_.wait(route, *limiter);
  const bool has_bytes = route.body_bytes <= planning.bytes || places_.held() == 0;  // one may always go
  if (!has_bytes || org.bytes >= planning.bytes_below) {
    planning.bytes_below = std::min(planning.bytes_below, org.bytes);
    planning.short_of_bytes.push_back(&org);
    return org.position.leave();
  }
  std::size_t count = 1;
  if (planning.short_of_bytes.empty())
    count = std::min({planning.free, places_.room(route), std::max<std::size_t>(1, planning.bytes / route.body_bytes)});
  if (route.granted == 0) planning.granted.push_back(&route);
  route.granted += count;
  planning.free -= count;
  planning.bytes -= std::min(planning.bytes, count * route.body_bytes);
  route.planned = revision_;
  places_.served(org);
  route.target->served = route.served = ++served_;
  places_.make_ready(route);  // behind the others
  places_.take(route, count, 0);
}

RouteShare Planner::share_of(KnownRoute& route, Moment now) {
  auto& cursor = route.expires ? route.expired_cursor : route.cursor;
  if (now - cursor.since > kCursorLife) cursor = {};
  const Contract& contract = *route.contract;
  RouteShare share{.route = route.id, .count = route.granted, .after = cursor.due, .after_id = cursor.id, .org = route.org->id};
  if (route.expires) {
    share.min_age = contract.max_acceptance;
    return share;
  }
  share.cooldown_key = contract.cooldown_key();
  share.target = contract.target;
  share.channel = contract.channel;
  share.rate = route.rate;
  share.probe = route.breaker->cooldown.has_value();
  if (share.probe) share.outage_since = route.breaker->cooldown->since;
  return share;
}

void Planner::claimed(Shard shard, const RouteShare& share, std::span<const ClaimedRow* const> rows, Moment now) {
  const std::lock_guard lock(mutex_);
  KnownRoute& route = *places_.find(shard, share.route);
  route.granted = 0;
  places_.give_back(route, share.count - rows.size(), 0);
  std::size_t bytes = 0, largest = 0;
  for (const ClaimedRow* row : rows) {
    bytes += bytes_of(*row);
    largest = std::max(largest, row->body_bytes);
  }
  places_.take(route, 0, bytes);
  if (!share.probe) places_.note_taken(route, now);
  if (share.probe) {
    route.breaker->probes += rows.size();
    if (is_half_open(*route.breaker)) allow_one_probe(*route.breaker);  // others may have come back since the plan
  }
  if (!rows.empty()) note_bodies(route, largest);
  const bool had_all = rows.size() == share.count;
  const bool began = share.after_id == DeliveryId{};
  const bool expires = std::exchange(route.expires, false);
  auto& cursor = expires ? route.expired_cursor : route.cursor;
  if (had_all) {
    cursor = {rows.back()->due, rows.back()->delivery, began ? now : cursor.since};
    if (expires) expired_.insert(&route);
  } else {
    if (!expires && began && route.observed <= route.planned)
      route.due.reset();  // else it is asked once more, from the beginning
    cursor = {};
  }
  put(route, now);
}

void Planner::trim(Shard shard, RouteShare& share, std::size_t count) {
  const std::lock_guard lock(mutex_);
  places_.give_back(*places_.find(shard, share.route), share.count - count, 0);
  share.count = count;
}

void Planner::denied(Shard shard, const RouteShare& share, Moment until) {
  const std::lock_guard lock(mutex_);
  KnownRoute& route = *places_.find(shard, share.route);
  route.granted = 0;
  route.expires = false;
  places_.give_back(route, share.count, 0);
  postpone(route, until);
}

std::shared_ptr<const Contract> Planner::contract(RouteId route) const {
  const std::lock_guard lock(mutex_);
  return places_.contract(route);
}

// ---- places ----

bool Planner::admit(Shard shard, const std::vector<InsertGroup>& all, Moment now) {
  const std::lock_guard lock(mutex_);
  const auto fresh = fresh_until_.find(shard);
  if (fresh == fresh_until_.end() || now > fresh->second) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    KnownRoute& route = places_.get(shard, all[i]);
    const bool older_waits = route.due && *route.due <= now;
    const bool is_stopped = route.breaker->cooldown || route.rate;
    if (older_waits || is_stopped || !places_.is_next(route, !unknown_.empty()) || !places_.fits(route, all[i])) {
      undo(shard, std::span(all).first(i));
      return false;
    }
    places_.take(route, all[i].count, all[i].bytes);
    note_bodies(route, mean_bytes(all[i]));
  }
  return true;
}

void Planner::undo(Shard shard, std::span<const InsertGroup> admitted) {
  for (const auto& one : admitted) places_.give_back(*places_.find(shard, one.route), one.count, one.bytes);
}

void Planner::give_back(Shard shard, std::span<const InsertGroup> admitted) {
  const std::lock_guard lock(mutex_);
  undo(shard, admitted);
}

void Planner::release(const std::vector<Finished>& settled, Moment now) {
  const std::lock_guard lock(mutex_);
  for (auto first = settled.begin(); first != settled.end();) {
    const auto is_of_another = [shard = shard_of(first->job.delivery), id = first->job.route](const Finished& one) {
      return one.job.route != id || shard_of(one.job.delivery) != shard;
    };
    const auto last = std::find_if(first, settled.end(), is_of_another);
    KnownRoute* route = places_.find(shard_of(first->job.delivery), first->job.route);
    if (route != nullptr && route->contract) release(*route, {first, last}, now);
    first = last;
  }
}

// The places of all of these are given back at once, but for a breaker that is open: its ramp begins at what is in use then.
void Planner::release(KnownRoute& route, std::span<const Finished> settled, Moment now) {
  Breaker& breaker = *route.breaker;
  if (!breaker.cooldown) places_.note_taken(route, now);
  std::size_t count = 0, bytes = 0;
  const auto give_back = [&] { places_.give_back(route, std::exchange(count, 0), std::exchange(bytes, 0)); };
  for (const auto& one : settled) {
    ++count;
    bytes += bytes_of(one.job);
    if (breaker.cooldown) give_back();
    if (one.job.probe && breaker.probes > 0) --breaker.probes;
    if (one.how == Finished::How::attempted)
      places_.answered(route, one.finished_at - one.started_at, one.outcome && clears_target(*one.outcome));
    if (breaker.cooldown && one.job.probe && one.outcome && clears_target(*one.outcome))
      recover(breaker, one.finished_at - breaker.cooldown->since, now);
    else if (!breaker.cooldown)
      ramp(breaker, one);
    if (is_half_open(breaker)) allow_one_probe(breaker);
    const bool is_due_again =
        one.how == Finished::How::composed || one.how == Finished::How::unattempted || one.how == Finished::How::interrupted;
    if (is_due_again) set_due(route, now);
  }
  give_back();
}

std::size_t Planner::held() const {
  const std::lock_guard lock(mutex_);
  return places_.held();
}

std::size_t Planner::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return places_.free_bytes();
}

std::size_t Planner::held_of_channels(OrgId org) const {
  const std::lock_guard lock(mutex_);
  return places_.held_of_channels(org);
}

}  // namespace waybill
