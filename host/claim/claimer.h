// Who is due: takes unfinished deliveries out of the queue, as many as can start, and hands them on.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "claim/claim_book.h"
#include "claim/first_claims.h"
#include "claim/window.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/job.h"
#include "store/queue_store.h"
#include "telemetry/log.h"

namespace waybill {

struct ClaimerSettings {
  int shards = 1;
  std::size_t batch = 1000;
  Millis lease{60'000};
  Millis poll{500};
};

// Has a thread of its own; the public functions are safe from any thread.
class Claimer {
 public:
  // `host` tells the id to claim with, or none while this host must not claim (no presence, or draining).
  Claimer(QueueStore& store, Window& window, ClaimBook& book, FirstClaims& first_claims, const Clock& clock,
          ClaimerSettings settings, std::function<std::optional<HostId>()> host, JobSink sink, Log& log);
  ~Claimer();

  void wake();                                              // something new may be due
  void wake(Shard shard, const std::set<RouteId>& routes);  // something of these is: it is claimed without asking first
  // These are not held any more; of the claims in `unwritten` some deliveries stay claimed until their lease is over.
  void let_go(const std::vector<Finished>& settled, const std::vector<ClaimToken>& unwritten = {});
  void stop();  // no claim begins after this returns; jobs of the last one have been handed on

 private:
  struct Mark {  // the place behind the last claimed row of a route, while its backlog lasts
    Timestamp due;
    DeliveryId delivery;
  };

  struct Backlog {  // which routes surely had more than was claimed of them: not asked for again at once
    DueRoutes due;
    Clock::Monotonic asked_at, news_until, fresh_until;  // how long the answer does when something new came, and when nothing did
    bool claimed = false;                                // since it was asked, as much as was wanted of each of them
  };

  using Shares = std::vector<std::pair<RouteId, std::size_t>>;

  void run(std::stop_token stop);
  std::chrono::microseconds round(Shard shard, HostId host);  // how long to sleep after it
  Result<DueRoutes> due_routes(Shard shard, std::chrono::microseconds& good_for);
  std::vector<Window::Demand> demands_of(const DueRoutes& due, std::chrono::microseconds& pause);
  std::vector<RouteShare> wanted(Shard shard, const std::vector<Window::Demand>& demands, const Shares& shares) const;
  bool find_backlog(Shard shard, const std::vector<Window::Demand>& demands, const Shares& shares,
                    const std::vector<ClaimedRow>& rows);
  Result<void> give_back_lost();
  void forget_done();
  const RouteFacts* facts_of(RouteId route);
  void sleep(std::stop_token stop, std::chrono::microseconds most);

  QueueStore& store_;
  Window& window_;
  ClaimBook& book_;
  FirstClaims& first_claims_;
  const Clock& clock_;
  const ClaimerSettings settings_;
  const std::function<std::optional<HostId>()> host_;
  const JobSink sink_;
  Log& log_;

  // The thread's own:
  std::unordered_map<RouteId, RouteFacts> facts_;
  std::map<std::pair<Shard, RouteId>, Mark> marks_;
  Clock::Monotonic marks_since_;
  std::int64_t claims_ = 0;
  std::map<Shard, Backlog> backlogs_;
  Clock::Monotonic forgot_at_, news_at_;  // when wake() was seen last

  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  bool woken_ = false;
  std::map<Shard, std::set<RouteId>> news_;
  std::size_t freed_ = 0;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
