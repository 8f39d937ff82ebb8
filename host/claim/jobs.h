// From claimed rows to jobs.
#pragma once

#include <functional>
#include <vector>

#include "claim/route_facts.h"
#include "core/clock.h"
#include "core/job.h"
#include "store/queue_store.h"

namespace waybill {

// This host's clock before the claim was sent and when its answer was there.
struct ClaimTimes {
  Clock::Monotonic asked, answered;
  Millis lease;
};

std::vector<Job> jobs_of(Claimed claimed, ClaimToken token, const ClaimTimes& times,
                         const std::function<const RouteFacts&(RouteId)>& facts_of);

}  // namespace waybill
