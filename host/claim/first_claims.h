// Claims what comes in as it is stored, in the same commit, if it can start at once and nothing older of its target waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "claim/claim_book.h"
#include "claim/window.h"
#include "core/clock.h"
#include "core/job.h"
#include "store/intake_store.h"
#include "store/queue_store.h"

namespace waybill {

struct FirstClaimSettings {
  Millis lease{60'000};
  Millis fresh{1'000};  // how long the claimer's last look at the queue does
};

// Safe from any thread.
class FirstClaims {
 public:
  // `host` tells the id to claim with, or none while this host must not claim.
  FirstClaims(Window& window, ClaimBook& book, const Clock& clock, FirstClaimSettings settings,
              std::function<std::optional<HostId>()> host, JobSink sink);

  // ---- the intake's ----
  // A claim for all of these, or none. Each is followed by one of the two below.
  std::optional<FirstClaim> ask(Shard shard, const std::vector<Newcomers>& all);
  void carried_out(Shard shard, const FirstClaim& claim, Claimed claimed);  // fewer than were asked for, if some were not new
  void lost(Shard shard, const FirstClaim& claim);                          // nobody knows whether it was

  // ---- the claimer's ----
  // While this is held nothing is claimed here: from reckoning what may be taken until it is held.
  std::unique_lock<std::mutex> claiming() { return std::unique_lock(claiming_); }
  void saw(Shard shard, const DueRoutes& due);               // the queue, as the database told it
  void waits(Shard shard, const std::set<RouteId>& routes);  // something of these is due and not claimed
  void waits_no_more(Shard shard, const std::set<RouteId>& routes);

  void stop();  // no claim begins after this returns; jobs of the last one have been handed on

 private:
  struct Seen {
    Clock::Monotonic at;
    std::set<RouteId> waiting;
  };
  struct Asked {
    Clock::Monotonic at;
    std::map<RouteId, RouteFacts> facts;
    std::vector<Newcomers> all;
  };

  bool may_start(Shard shard, const std::vector<Newcomers>& all);
  Asked take(ClaimToken token);
  void let_go(const Asked& asked, const std::vector<ClaimedRow>& but);
  void end(ClaimToken token);

  Window& window_;
  ClaimBook& book_;
  const Clock& clock_;
  const FirstClaimSettings settings_;
  const std::function<std::optional<HostId>()> host_;
  const JobSink sink_;
  std::mutex claiming_;
  std::mutex mutex_;  // for all below
  std::condition_variable ended_;
  bool stopped_ = false;
  std::map<Shard, Seen> seen_;
  std::unordered_map<ClaimToken, Asked> under_way_;
};

}  // namespace waybill
