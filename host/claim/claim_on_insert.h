// Claims new deliveries in the commit that stores them, if they can start at once and nothing older of their target waits.
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
#include "store/intake/intake_store.h"

namespace waybill {

// Safe from any thread.
class ClaimOnInsert {
 public:
  // `host` returns the id to claim with, or none while this host must not claim.
  ClaimOnInsert(Planner& planner, ClaimLedger& ledger, const Clock& clock, Millis lease,
                std::function<std::optional<HostId>()> host, JobSink sink);

  // A claim for all of these, or none. Follow each claim by one call of the next two functions, with the same groups.
  std::optional<InsertClaim> ask(Shard shard, const std::vector<InsertGroup>& all);
  // The insert was committed. `claimed` has fewer rows than requested if some submissions were not new.
  void carried_out(Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all, ClaimResult claimed);
  // The commit's answer never came.
  void unconfirmed(Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all);

  void stop();  // after this returns no claim begins, and all claimed jobs have been handed on

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
