// The concurrency limiters of this host: how many places each route holds, what limits it, which routes are ready or waiting. A
// target's rate is not here, because it holds for all hosts together: Claimer::take_permits() asks the database.
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
#include <vector>

#include "base/clock.h"
#include "config/config.h"
#include "domain/job.h"
#include "domain/org_weights.h"
#include "limits/ranked.h"
#include "limits/recent_most.h"
#include "store/queue/cooldown.h"
#include "store/queue/queue_store.h"

namespace waybill {

struct KnownRoute;
struct Target;

// The rates of the registry's targets as they are now, by name; none: it has no rate. They go before those of contracts, which
// are as old as their submissions.
using TargetRates = std::map<std::string, std::optional<Rate>, std::less<>>;

// `limit` places, of which `used` are taken, and the routes that wait for one.
struct Limiter {
  std::size_t limit = std::numeric_limits<std::size_t>::max(), used = 0;
  std::map<OrgId, Ranked<KnownRoute>> waiting;
  OrgId turn{};                        // the organisation that got the last place
  Ranked<Limiter>::Position position;  // among limiters with both a free place and a waiting route

  bool is_full() const { return used >= limit; }
};

struct Org {
  OrgId id;
  std::uint32_t weight = 1;
  std::size_t held = 0, bytes = 0;
  std::uint64_t turn = 0;  // when it is next among organisations of the same load: the later, the more it got for its weight
  std::uint64_t load() const { return held * kMaxOrgWeight / weight; }
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

// The circuit breaker of what fails and recovers together: a target, or, for forms, an action type. Its limit is 0 during a
// cooldown. While half-open it lets one probe go beside what is under way from before. After the recovery it grows, the faster
// the more the target took before the outage, until it is gone.
struct Breaker {
  Limiter limiter;
  RecentMost taken;                  // open at one time
  std::size_t taken_before = 0;      // that is, when the outage began
  Clock::Monotonic recovered_at{};   // what was claimed earlier had its places beside the ramp
  std::size_t probes = 0;            // under way
  std::optional<Cooldown> cooldown;  // none: it is up
  Clock::Monotonic until{};
  std::uint64_t observed = 0;          // the revision of the last news of `cooldown`
  Ranked<Breaker>::Position position;  // among those that are down
};

// The limits of one host name and port, which many targets may share. Work is claimed ahead, so that a freed connection finds its
// next request waiting. Only where answers come quickly, because waiting for a connection uses up the attempt's time. `one_shot`s
// are never claimed ahead: a claim that waits in memory counts as sent if its host dies. The channels of an organisation count as
// one host name, because theirs are known only when they are claimed; nothing is claimed ahead for them, and one host serves them
// all at a time. A channel earns its places by quick answers, so that those that hang do not hold all of their organisation's.
struct HostName {
  Limiter open, claimed_ahead;
};

// A route that may have work or has places.
struct KnownRoute {
  Shard shard;
  RouteId id;
  std::shared_ptr<Org> org;
  std::shared_ptr<const Contract> contract;  // null, like the next six, until learn()
  std::shared_ptr<Target> target;
  std::shared_ptr<Breaker> breaker;
  std::shared_ptr<HostName> host_name;
  std::shared_ptr<Limiter> action_type;
  std::optional<Rate> rate;             // in force
  std::array<Limiter*, 5> limiters{};   // all count it; all but the last must have a place
  std::optional<Clock::Monotonic> due;  // it may have work from then on; none: no work
  struct Cursor {
    Timestamp due{};
    DeliveryId id{};
    Clock::Monotonic since{};
  };
  Cursor cursor, expired_cursor;
  std::size_t held = 0, granted = 0;
  std::size_t body_bytes = std::size_t{1} << 14;  // a large one among its recent bodies
  std::uint64_t observed = 0;                     // the revision of the last news of its work
  std::uint64_t planned = 0;                      // the revision at its latest share
  std::uint64_t served = 0;
  bool expires = false;  // it cannot start; its share is for deliveries past their deadline
  Ranked<KnownRoute>::Position position;

  std::span<Limiter* const> checked() const { return std::span(limiters).first(4); }
  bool is_idle() const { return !due && held == 0; }
};

inline constexpr std::size_t kNextToNone = 4;  // a target with fewer places holds almost none; in a small host, none at all

// One thread at a time. Drops a route that neither is due nor holds places; shared parts go with their last route.
class Places {
 public:
  Places(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency, Millis quick);

  KnownRoute* find(Shard shard, RouteId id);
  KnownRoute& get(Shard shard, RouteId id, OrgId org);  // creates it if new
  KnownRoute& get(Shard shard, const InsertGroup& newest);
  void learn(RouteId id, const Contract& contract);
  bool attach_contract(KnownRoute& route);  // gives it its limiters; false while its contract is unknown
  std::shared_ptr<const Contract> contract(RouteId id) const { return contracts_.at(id); }  // of a learnt route
  Breaker& breaker(OrgId org, const std::string& cooldown_key);
  void forget_ramp(OrgId org, const std::string& cooldown_key);  // if no route needs it; what was taken stays known for a while
  void drop_idle(Shard shard, const std::function<void(KnownRoute&)>& look);  // calls `look` for each first

  void move(KnownRoute& route, Ranked<KnownRoute>& queue, Rank at);
  void leave(KnownRoute& route);  // its present queue, if any
  void make_ready(KnownRoute& route) { move(route, route.target->ready, {route.served, 0}); }
  void wait(KnownRoute& route, Limiter& limiter) { move(route, limiter.waiting[route.org->id], {route.served, 0}); }
  // No other ready route should get a place before it, even if `others_wait`: its target holds almost none, and its organisation
  // no more than others.
  bool is_next(const KnownRoute& route, bool others_wait) const;
  Org* next();            // the organisation that holds least for its weight, if any is ready
  void served(Org& org);  // it got a turn
  // How many places it may take: all that fit if no other route is ready, else 1.
  std::size_t room(const KnownRoute& route) const;
  void rank(Org& org) {
    org.ready.empty() || org.held >= limits_.per_org ? org.position.leave() : ready_.put(org, {org.load(), org.turn});
  }
  void set_weights(OrgWeights weights);
  std::vector<KnownRoute*> set_rates(TargetRates rates);  // those whose rate has changed
  std::vector<KnownRoute*> set_rates(OrderedRates rates);

  void take(KnownRoute& route, std::size_t count, std::size_t bytes);
  void give_back(KnownRoute& route, std::size_t count, std::size_t bytes);
  void set_limit(Limiter& limiter, std::size_t limit);
  void answered(KnownRoute& route, Micros took, bool got_through);  // one of its attempts
  void note_taken(KnownRoute& route, Clock::Monotonic now);
  void refresh_action_types();
  static Limiter* full(const KnownRoute& route);
  bool fits(const KnownRoute& route, const InsertGroup& inserted);
  std::size_t held() const { return held_; }
  std::size_t held_of_channels(OrgId org) const;
  // Without the reserved ones.
  std::size_t free() const { return limits_.in_flight - std::min(limits_.in_flight, held_ + limits_.reserve()); }
  std::size_t free_bytes() const { return limits_.in_flight_bytes - std::min(limits_.in_flight_bytes, bytes_); }

 private:
  std::uint32_t weight_of(OrgId org) const;
  std::optional<Rate> rate_of(OrgId org, const Contract& contract) const;
  std::vector<KnownRoute*> rate_all();
  void rank(Target& target);
  void adapt_channel(KnownRoute& route, Micros took, bool got_through);
  void reopen(Limiter& limiter);
  void reopen_freed();

  const Limits limits_;
  const std::function<std::size_t(const std::string&)> concurrency_;
  const Micros quick_;
  std::size_t held_ = 0, bytes_ = 0;
  std::uint64_t turn_ = 0;  // of the organisation that was served last
  OrgWeights weights_;
  TargetRates rates_;
  OrderedRates ordered_;
  Ranked<Org> ready_;      // those with room, by places held for their weight, then by turn
  Ranked<Limiter> freed_;  // a place was released while a route waited
  std::unordered_map<OrgId, std::shared_ptr<Org>> orgs_;
  std::map<std::pair<OrgId, std::string>, std::shared_ptr<Target>> targets_;
  std::map<std::pair<OrgId, std::string>, std::shared_ptr<Breaker>> breakers_;
  std::unordered_map<std::string, std::shared_ptr<HostName>> host_names_;
  std::unordered_map<std::string, std::shared_ptr<Limiter>> action_types_;
  std::unordered_map<RouteId, std::shared_ptr<const Contract>> contracts_;
  std::map<Shard, std::unordered_map<RouteId, KnownRoute>> shards_;
};

}  // namespace waybill
