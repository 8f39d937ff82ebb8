// Which routes may have work, who is next, and how much of it this host may hold. Pure: it has no thread, clock or database of
// its own.
//
// A place is room for one delivery from its claim to its settlement. A share is what a claim may take of one route. A walk asks
// the database for all routes with work. A revision numbers the news of routes: what came after a walk began is newer than its
// answer. A cursor is the last row that was claimed of a route: the next claim looks behind it. A route is ready, or waits for a
// place at a limiter, or is due later. A target is half-open when its cooldown is over and a probe has not got through yet.
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
#include "store/queue_store.h"

namespace waybill {

// What to claim: shares, by shard. Their places are taken; each share is followed by one claimed() or denied().
struct ClaimPlan {
  std::map<Shard, std::vector<RouteShare>> shares;
  std::vector<RouteId> unknown;  // they may have work, and nothing of them is planned before learn()
  std::size_t bytes = 0;         // of bodies that all the claims together may bring
};

// Places go one by one to the organisation that holds least, within it to the target that holds least, among equals to the one
// that was served longest ago (max-min fairness). A route that a limit stops waits at that limit, and costs nothing until a place
// falls free. Safe from any thread; every call is short.
class Planner {
 public:
  using Moment = Clock::Monotonic;

  // `concurrency` tells how many calls of an action type may be open, 0 if none can run. Work is claimed ahead of its connections
  // where attempts take no longer than `quick`.
  Planner(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency,
          Millis quick = Millis(2'500));

  // ---- from when a route may have work ----
  std::uint64_t revision() const;
  // The answer to a walk that began at `revision`. It is the whole truth about the shard until `fresh_until`: see admit().
  void observe(Shard shard, const DueRoutes& due, std::uint64_t revision, Moment now, Moment fresh_until);
  void observe(const Cooldowns& cooldowns, Moment now);                        // all outages that there are
  void wake(Shard shard, const std::vector<InsertGroup>& routes, Moment now);  // they have work
  void learn(RouteId route, const Contract& contract);
  void skip(RouteId route, Moment until);  // its contract cannot be read: not before then
  Moment next_due() const;                 // when something may start that cannot start now

  // ---- who is next ----
  ClaimPlan plan(std::size_t most, Moment now);
  // What became of a share: its rows in the order of (due, delivery), fewer than asked for if the route had no more.
  void claimed(Shard shard, const RouteShare& share, std::span<const ClaimedRow* const> rows, Moment now);
  void trim(Shard shard, RouteShare& share, std::size_t count);     // it is to ask for fewer
  void denied(Shard shard, const RouteShare& share, Moment until);  // it brought nothing, and is not asked for before then
  std::shared_ptr<const Contract> contract(RouteId route) const;    // of a route that has places

  // ---- places ----
  // Takes places for all of these if they are next, nothing older of their routes waits and every limit allows it, else none.
  bool admit(Shard shard, const std::vector<InsertGroup>& all, Moment now);
  void give_back(Shard shard, std::span<const InsertGroup> admitted);  // that were not stored
  void release(const std::vector<Finished>& settled, Moment now);
  std::size_t held() const;

 private:
  struct Planning;

  void put(KnownRoute& route, Moment now);
  void set_due(KnownRoute& route, Moment now);
  void postpone(KnownRoute& route, Moment until);
  void recover(Breaker& breaker);
  void undo(Shard shard, std::span<const InsertGroup> admitted);
  void plan_what_falls_due(Moment now);
  void plan_expired(Planning& planning);
  void plan_next(Org& org, Planning& planning);
  static RouteShare share_of(KnownRoute& route, Moment now);

  const Limits limits_;
  mutable std::mutex mutex_;  // for all below
  std::uint64_t revision_ = 0, served_ = 0;
  Ranked<KnownRoute> later_;       // by the moment from which they may have work
  Ranked<KnownRoute> unknown_;     // due, without a contract
  Ranked<Breaker> down_;           // by the end of their cooldowns, half-open ones last
  std::set<KnownRoute*> expired_;  // to be asked for what is past its deadline
  std::map<Shard, Moment> fresh_until_;
  Places places_;
};

}  // namespace waybill
