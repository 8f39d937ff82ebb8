// Which routes may have work, who is next, and how much of it this host may hold. Pure: it has no thread, clock or database of
// its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "claim/route_facts.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/id.h"
#include "core/job.h"
#include "store/queue_store.h"

namespace waybill {

// What to claim: a share for each route, by shard. Its places are taken; each share is followed by one claimed().
struct ClaimPlan {
  std::map<Shard, std::vector<RouteShare>> shares;
  std::vector<RouteId> unknown;  // these cannot be planned before learn() or skip()
  std::size_t bytes = 0;         // of bodies that all the claims together may bring
};

// Places go one by one to the organisation that holds least, within it to the target that holds least, among equals to the route
// that was served longest ago (max-min fairness). A route that a limit stops waits at that limit, and costs nothing until a place
// falls free. Safe from any thread; every call is short.
class Planner {
 public:
  using Moment = Clock::Monotonic;

  // `concurrency` tells how many calls of an action type may be open, 0 if none can run.
  Planner(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency);

  // ---- from when a route may have work ----
  // The answer to a walk over the queue that began when mark() gave `mark`. What was learnt of a route since then stays.
  std::uint64_t mark() const;
  // Until `fresh_until` nothing of the shard that is not known here counts as waiting.
  void observe(Shard shard, const DueRoutes& due, std::uint64_t mark, Moment now, Moment fresh_until);
  void observe(const Cooldowns& cooldowns, Moment now);                      // all outages that there are
  void wake(Shard shard, const std::vector<Newcomers>& routes, Moment now);  // they have work
  void wake(Shard shard, RouteId route, Moment now);
  void learn(RouteId route, RouteFacts facts, Moment now);
  void skip(RouteId route, Moment until);  // its contract cannot be read: not before then
  Moment next_due() const;                 // when something may start that cannot start now

  // ---- who is next ----
  ClaimPlan plan(std::size_t most, Moment now);
  // What became of a share: its rows in the order of (due, delivery), fewer than asked for if the route had no more.
  void claimed(Shard shard, const RouteShare& share, std::span<const ClaimedRow* const> rows, Moment now);
  void trim(Shard shard, RouteShare& share, std::size_t count);     // it is to ask for fewer
  void denied(Shard shard, const RouteShare& share, Moment until);  // it was not asked for, and will not be before then
  const RouteFacts& facts(Shard shard, RouteId route) const;        // of a route that has places

  // ---- places ----
  // Takes places for all of these if nothing older of theirs waits and every limit allows it, else none.
  bool admit(Shard shard, const std::vector<Newcomers>& all, Moment now);
  void release(Shard shard, RouteId route, std::size_t count, std::size_t bytes);
  void recovered(Shard shard, RouteId route, Moment now);  // its target answers again
  std::size_t held() const;

 private:
  static constexpr std::size_t kNoLimit = std::size_t{1} << 62;
  struct Route;
  using Key = std::tuple<std::int64_t, std::int64_t, Shard, RouteId>;
  using Queue = std::map<Key, Route*>;
  struct Limiter {
    std::size_t limit = 0;
    std::size_t used = 0;
    std::map<OrgId, Queue> waiting;
    OrgId turn{};  // of the organisation that waits: whose route may try next
  };
  struct Org {
    OrgId id;
    std::int64_t held = 0, served = 0;
    Queue ready;
    std::size_t routes = 0;
  };
  using OrgKey = std::tuple<std::int64_t, std::int64_t, OrgId>;
  // What fails and recovers together: a target, or a sender with all its forms.
  struct Outage {
    Limiter limiter{kNoLimit};  // of one while it is half-open, growing while it ramps up
    std::optional<Rest> rest;   // none: it is up
    Moment until{};
    std::set<Route*> routes;
  };
  struct Target {
    Limiter limiter;
    std::set<Route*> routes;
  };
  struct HostName {
    std::array<Limiter, 2> limiters;  // [1]: for work that is claimed ahead of its connection
    std::size_t routes = 0;
  };
  struct Route {
    Shard shard;
    RouteId id;
    Org* org;
    std::shared_ptr<const RouteFacts> facts;  // none: not learnt yet
    Target* target = nullptr;
    Outage* outage = nullptr;
    std::array<Limiter*, 4> checked{};  // each must have a place
    std::array<Limiter*, 5> counted{};  // and these count it
    std::optional<Moment> due;          // it may have work from then on; none: it has none
    Timestamp after{};                  // cursor: behind the last claimed row
    DeliveryId after_id{};
    Moment cursor_since{};
    std::size_t held = 0, granted = 0;
    std::size_t body_bytes = 0;  // of a large body among its latest
    std::uint64_t changed = 0;   // the mark of its latest wake
    std::uint64_t planned = 0;   // the mark of its latest share
    bool expires = false;        // it cannot start, and some of it may be past its deadline
    Queue* place = nullptr;
    Key key{};
    std::int64_t served = 0;
  };
  struct Planning;

  Route& route_of(Shard shard, RouteId id, OrgId org);
  void give_facts(Route& route, std::shared_ptr<const RouteFacts> facts);
  std::shared_ptr<const RouteFacts> known(const Newcomers& newcomers);
  std::vector<std::pair<Shard, Route*>> routes_of(RouteId id);
  void set_due(Route& route, Moment now);
  void put(Route& route, Moment now);
  void put_ready(Route& route);
  void put_in(Route& route, Queue& place, std::int64_t first);
  void take_out(Route& route);
  void take_places(Route& route, std::size_t count);
  void free_places(Route& route, std::size_t count);
  void requeue(Route& route);
  void requeue(Org& org, OrgKey before);
  static OrgKey key_of(const Org& org) { return {org.held, org.served, org.id}; }
  void reopen(Limiter& limiter);
  Limiter* full(const Route& route) const;
  bool fits(const Route& route, const Newcomers& newcomers) const;
  void refresh_action_types();
  void plan_expired(Planning& planning);
  void grant(Route& route, Planning& planning);
  static RouteShare share_of(Route& route, Moment now);
  void end(Outage& outage, Moment now);
  void drop_idle(Shard shard);

  const Limits limits_;
  const std::function<std::size_t(const std::string&)> concurrency_;
  mutable std::mutex mutex_;  // for all below
  std::uint64_t mark_ = 0;
  std::int64_t served_ = 0;
  std::size_t held_ = 0, bytes_ = 0;
  std::map<std::pair<Shard, RouteId>, Route> routes_;
  std::map<RouteId, std::shared_ptr<const RouteFacts>> facts_;
  std::map<OrgId, Org> orgs_;
  std::map<OrgKey, Org*> ready_orgs_;  // that have a ready route
  std::map<std::pair<OrgId, std::string>, Target> targets_;
  std::map<std::pair<OrgId, std::string>, Outage> outages_;
  std::unordered_map<std::string, HostName> host_names_;
  std::unordered_map<std::string, Limiter> action_types_;
  Queue later_;               // by the moment from which they may have work
  std::set<Route*> expired_;  // to be asked for what is past its deadline
  std::set<Limiter*> freed_;  // a place fell free while somebody waited
  std::map<Shard, Moment> fresh_until_;
};

}  // namespace waybill
