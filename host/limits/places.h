// The places of this host: which routes hold how many, what limits them, who is ready for one and who waits for one.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "config/config.h"
#include "domain/job.h"
#include "limits/ranked.h"
#include "store/cooldown.h"

namespace waybill {

struct KnownRoute;
struct Target;

// So many places there are, so many are used, and these routes wait for one.
struct Limiter {
  std::size_t limit = std::numeric_limits<std::size_t>::max(), used = 0;
  std::map<OrgId, Ranked<KnownRoute>> waiting;
  OrgId turn{};                        // of the organisation that was let in last
  Ranked<Limiter>::Position position;  // among those with a free place that somebody waits for

  bool is_full() const { return used >= limit; }
};

struct Org {
  OrgId id;
  std::size_t held = 0, bytes = 0;
  std::uint64_t served = 0;
  Ranked<Target> ready;
  Ranked<Org>::Position position;
};

struct Target {
  Org* org = nullptr;
  Limiter limiter;
  std::uint64_t served = 0;
  Ranked<KnownRoute> ready;
  Ranked<Target>::Position position;
};

// What fails and recovers together: a target, or a sender with all its forms. Its limit is 0 during a cooldown and 1 while it is
// half-open; when it has recovered, the limit grows from a few until it is none.
struct Breaker {
  Limiter limiter;
  std::optional<Cooldown> cooldown;  // none: it is up
  Clock::Monotonic until{};
  std::uint64_t told = 0;              // the revision that told of `cooldown` last
  Ranked<Breaker>::Position position;  // among those that are down
};

// Work is claimed ahead, so that a connection that falls free finds its next request waiting, but only where answers come
// quickly: what waits for a connection uses up the time of its attempt. Work that may be tried once is not claimed ahead: a claim
// that waits in memory counts as sent if its host dies.
struct HostName {
  Limiter open, claimed_ahead;
};

// A route that may have work or has places.
struct KnownRoute {
  Shard shard;
  RouteId id;
  std::shared_ptr<Org> org;
  std::shared_ptr<const Contract> contract;  // none, like the next five: it is to be learnt
  std::shared_ptr<Target> target;
  std::shared_ptr<Breaker> breaker;
  std::shared_ptr<HostName> host_name;
  std::shared_ptr<Limiter> action_type;
  std::array<Limiter*, 5> limiters{};   // all count it, and all but the last must have a place for it
  std::optional<Clock::Monotonic> due;  // it may have work from then on; none: it has none
  struct Cursor {
    Timestamp due{};
    DeliveryId id{};
    Clock::Monotonic since{};
  } cursor;
  std::size_t held = 0, granted = 0;
  std::size_t body_bytes = std::size_t{1} << 14;  // of a large body among its latest
  std::uint64_t told = 0;                         // the revision that told of its work last
  std::uint64_t planned = 0;                      // the revision at its latest share
  std::uint64_t served = 0;
  bool expires = false;  // it cannot start, and its share is of what is past its deadline
  Ranked<KnownRoute>::Position position;

  std::span<Limiter* const> checked() const { return std::span(limiters).first(4); }
  bool is_idle() const { return !due && held == 0; }
};

// A host of so many places keeps a few for targets that have next to none: their deliveries need not wait until a place falls
// free.
inline constexpr std::size_t kWithReserve = 1024;
inline constexpr std::size_t kNextToNone = 4;  // fewer places than that; in a small host, none

// One thread at a time. A route that is neither due nor has places is dropped, and what it shares with the last that uses it.
class Places {
 public:
  Places(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency, Millis quick);

  KnownRoute* find(Shard shard, RouteId id);
  KnownRoute& get(Shard shard, RouteId id, OrgId org);  // made if it is new
  KnownRoute& get(Shard shard, const InsertGroup& newest);
  void learn(RouteId id, const Contract& contract);
  bool knows(KnownRoute& route);                                                            // its contract
  std::shared_ptr<const Contract> contract(RouteId id) const { return contracts_.at(id); }  // that was learnt
  Breaker& breaker(OrgId org, const std::string& cooldown_key);
  void drop_unused_breaker(OrgId org, const std::string& cooldown_key);
  void drop_idle(Shard shard, const std::function<void(KnownRoute&)>& look);  // after a look at each

  void move(KnownRoute& route, Ranked<KnownRoute>& queue, Rank rank);
  void leave(KnownRoute& route);  // whichever queue it is in
  void make_ready(KnownRoute& route) { move(route, route.target->ready, {route.served, 0}); }
  void wait(KnownRoute& route, Limiter& limiter) { move(route, limiter.waiting[route.org->id], {route.served, 0}); }
  // Nobody else who is ready, or `others_wait`, should get a place before it: its target has next to none, and its organisation
  // no more than others.
  bool is_next(const KnownRoute& route, bool others_wait) const;
  Org* next();  // the organisation that holds least, if any is ready
  // How many places it could take, if nobody else is ready for one; else 1.
  std::size_t room(const KnownRoute& route) const;
  void rank(Org& org) { org.ready.empty() ? org.position.leave() : ready_.put(org, {org.held, org.served}); }

  void take(KnownRoute& route, std::size_t count, std::size_t bytes);
  void give_back(KnownRoute& route, std::size_t count, std::size_t bytes);
  void set_limit(Limiter& limiter, std::size_t limit);
  void answered(KnownRoute& route, Micros took);  // one of its attempts
  void refresh_action_types();
  static Limiter* full(const KnownRoute& route);
  bool fits(const KnownRoute& route, const InsertGroup& newcomers);
  std::size_t held() const { return held_; }
  // Without those that are kept for newcomers.
  std::size_t free() const { return limits_.in_flight - std::min(limits_.in_flight, held_ + reserve()); }
  std::size_t free_bytes() const { return limits_.in_flight_bytes - std::min(limits_.in_flight_bytes, bytes_); }

 private:
  bool has_reserve() const { return limits_.in_flight >= kWithReserve; }
  std::size_t reserve() const { return has_reserve() ? limits_.in_flight / 32 : 0; }
  void rank(Target& target);
  void reopen(Limiter& limiter);
  void reopen_freed();

  const Limits limits_;
  const std::function<std::size_t(const std::string&)> concurrency_;
  const Micros quick_;
  std::size_t held_ = 0, bytes_ = 0;
  Ranked<Org> ready_;      // by what they hold, then by when they were served
  Ranked<Limiter> freed_;  // a place fell free while somebody waited
  std::unordered_map<OrgId, std::shared_ptr<Org>> orgs_;
  std::map<std::pair<OrgId, std::string>, std::shared_ptr<Target>> targets_;
  std::map<std::pair<OrgId, std::string>, std::shared_ptr<Breaker>> breakers_;
  std::unordered_map<std::string, std::shared_ptr<HostName>> host_names_;
  std::unordered_map<std::string, std::shared_ptr<Limiter>> action_types_;
  std::unordered_map<RouteId, std::shared_ptr<const Contract>> contracts_;
  std::map<Shard, std::unordered_map<RouteId, KnownRoute>> shards_;
};

}  // namespace waybill
