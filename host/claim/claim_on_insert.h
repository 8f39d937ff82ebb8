// Claims what comes in as it is stored, in the same commit, if it can start at once and nothing older of its target waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "claim/claim_ledger.h"
#include "claim/planner.h"
#include "core/clock.h"
#include "core/job.h"
#include "store/intake_store.h"

namespace waybill {

// Safe from any thread.
class ClaimOnInsert {
 public:
  // `host` tells the id to claim with, or none while this host must not claim.
  ClaimOnInsert(Planner& planner, ClaimLedger& ledger, const Clock& clock, Millis lease,
                std::function<std::optional<HostId>()> host, JobSink sink);

  // A claim for all of these, or none. Each is followed by one of the two below.
  std::optional<FirstClaim> ask(Shard shard, const std::vector<Newcomers>& all);
  void carried_out(Shard shard, const FirstClaim& claim, Claimed claimed);  // fewer than were asked for, if some were not new
  void unconfirmed(Shard shard, const FirstClaim& claim);                   // nobody knows whether it was carried out

  void stop();  // no claim begins after this returns; jobs of the last one have been handed on

 private:
  struct Asked {
    Clock::Monotonic at;
    std::vector<Newcomers> all;
  };
  Asked take(ClaimToken token);
  void release(Shard shard, const Asked& asked, const std::vector<ClaimedRow>& but);
  void end(ClaimToken token);

  Planner& planner_;
  ClaimLedger& ledger_;
  const Clock& clock_;
  const Millis lease_;
  const std::function<std::optional<HostId>()> host_;
  const JobSink sink_;
  std::mutex mutex_;  // for all below
  std::condition_variable ended_;
  bool stopped_ = false;
  std::unordered_map<ClaimToken, Asked> under_way_;
};

}  // namespace waybill
