// The way back: what follows from settlements for the limits of this host.
#pragma once

#include <algorithm>
#include <vector>

#include "limits/claim_ledger.h"
#include "limits/planner.h"
#include "limits/work_signal.h"

namespace waybill {

// Releases the places of settled jobs and wakes the claimer. Claims in `unwritten` have deliveries that stay claimed until their
// lease ends.
inline void release(Planner& planner, ClaimLedger& ledger, WorkSignal& signal, const std::vector<Finished>& settled,
                    const std::vector<ClaimToken>& unwritten, Clock::Monotonic now) {
  planner.release(settled, now);
  ledger.settled(settled, unwritten);
  signal.free(settled.size());
  const bool goes_on =
      std::any_of(settled.begin(), settled.end(), [](const Finished& one) { return one.job.contract->is_of_stage(); });
  if (goes_on) signal.walk();  // the next stage may have a route of its own
}

}  // namespace waybill
