// Decides which routes to claim next and how many deliveries of each. Pure: it has no thread, clock or database of its own.
//
// Place: room for one delivery from its claim to its settlement. Share: how many rows a claim may take of one route. Walk: a
// query for all routes with work. Revision: numbers the wake-ups, so that those after the start of a walk overrule its answer.
// Cursor: the last row claimed of a route; the next claim starts behind it. A route is ready, or waits for a place at a limiter,
// or is due later. A target is half-open when its cooldown has ended and no probe has got through yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "limits/places.h"
#include "store/queue/queue_store.h"

namespace waybill {

// What to claim. The places of all shares are taken; follow each share by one call of claimed() or denied().
struct ClaimPlan {
  std::map<Shard, std::vector<RouteShare>> shares;
  std::vector<RouteId> unknown;  // may have work, but need learn() before they are planned
  std::size_t bytes = 0;         // of bodies that all these claims together may return
};

// Allocates places one by one: to the organisation that holds least for its weight, in it to the target that holds least, among
// equals to the one served longest ago (weighted max-min fairness). A route stopped by a limit waits there and costs nothing
// until a place is released. Safe from any thread; every call is short.
class Planner {
 public:
  using Moment = Clock::Monotonic;

  // `concurrency` returns how many calls of an action type may be open, 0 if it cannot run. Work is claimed ahead of its
  // connections where attempts take at most `quick`.
  Planner(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency,
          Millis quick = Millis(2'500));

  // ---- from when a route may have work ----
  std::uint64_t revision() const;
  // The answer to a walk that began at `revision`. Complete for the shard until `fresh_until`: see admit().
  void observe(Shard shard, const DueRoutes& due, std::uint64_t revision, Moment now, Moment fresh_until);
  void observe(const Cooldowns& cooldowns, Moment now);  // all present outages
  void observe(OrgWeights weights);
  void observe(TargetRates rates, Moment now);  // what waits goes by them at once
  void observe(OrderedRates rates, Moment now);
  void wake(Shard shard, const std::vector<InsertGroup>& routes, Moment now);  // these have work
  void learn(RouteId route, const Contract& contract);
  void skip(RouteId id, Moment until);  // its contract cannot be read: not before `until`
  Moment next_due() const;              // the next time at which waiting work may start

  // ---- who is next ----
  ClaimPlan plan(std::size_t most, Moment now);
  // The rows of a share, in the order of (due, delivery). Fewer than requested means that the route had no more.
  void claimed(Shard shard, const RouteShare& share, std::span<const ClaimedRow* const> rows, Moment now);
  void trim(Shard shard, RouteShare& share, std::size_t count);     // request only `count`
  void denied(Shard shard, const RouteShare& share, Moment until);  // it returned nothing; do not ask again before `until`
  std::shared_ptr<const Contract> contract(RouteId route) const;    // of a route that has places

  // ---- places ----
  // Takes places for all of these if they are next, nothing older of their routes waits, and every limit allows it. Else for
  // none.
  bool admit(Shard shard, const std::vector<InsertGroup>& all, Moment now);
  void give_back(Shard shard, std::span<const InsertGroup> admitted);  // admitted but not stored
  void release(const std::vector<Finished>& settled, Moment now);
  std::size_t held() const;
  std::size_t free_bytes() const;                 // of bodies
  std::size_t held_of_channels(OrgId org) const;  // to all channels of this organisation

 private:
  struct Planning;

  void put(KnownRoute& route, Moment now);
  void set_due(KnownRoute& route, Moment now);
  void postpone(KnownRoute& route, Moment until);
  void allow_one_probe(Breaker& half_open);
  void recover(Breaker& breaker, Micros away, Moment now);
  void ramp(Breaker& breaker, const Finished& one);
  void release(KnownRoute& route, std::span<const Finished> settled, Moment now);
  void undo(Shard shard, std::span<const InsertGroup> admitted);
  void plan_what_falls_due(Moment now);
  void plan_expired(Planning& planning);
  void plan_next(Org& org, Planning& planning);
  static RouteShare share_of(KnownRoute& route, Moment now);

  const Limits limits_;
  mutable std::mutex mutex_;  // for all below
  std::uint64_t revision_ = 0, served_ = 0;
  Ranked<KnownRoute> later_;       // by the time from which they may have work
  Ranked<KnownRoute> unknown_;     // due, without a contract
  Ranked<Breaker> down_;           // by the end of their cooldowns, half-open ones last
  std::set<KnownRoute*> expired_;  // may have deliveries past their deadline
  std::map<Shard, Moment> fresh_until_;
  Places places_;
};

}  // namespace waybill
