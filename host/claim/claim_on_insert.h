// Claims what comes in as it is stored, in the same commit, if it can start at once and nothing older of its target waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "limits/claim_ledger.h"
#include "limits/planner.h"
#include "store/intake_store.h"

namespace waybill {

// Safe from any thread.
class ClaimOnInsert {
 public:
  // `host` tells the id to claim with, or none while this host must not claim.
  ClaimOnInsert(Planner& planner, ClaimLedger& ledger, const Clock& clock, Millis lease,
                std::function<std::optional<HostId>()> host, JobSink sink);

  // A claim for all of these, or none. Each is followed by one of the two below, with the same newcomers.
  std::optional<InsertClaim> ask(Shard shard, const std::vector<InsertGroup>& all);
  // Fewer than were asked for, if some were not new.
  void carried_out(Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all, ClaimResult claimed);
  // Nobody knows whether it was carried out.
  void unconfirmed(Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all);

  void stop();  // no claim begins after this returns; jobs of the last one have been handed on

 private:
  void end();

  Planner& planner_;
  ClaimLedger& ledger_;
  const Clock& clock_;
  const Millis lease_;
  const std::function<std::optional<HostId>()> host_;
  const JobSink sink_;
  std::mutex mutex_;  // for all below
  std::condition_variable ended_;
  bool stopped_ = false;
  std::size_t under_way_ = 0;
};

}  // namespace waybill
