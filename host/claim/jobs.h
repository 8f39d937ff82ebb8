// From claimed rows to jobs.
#pragma once

#include <functional>
#include <vector>

#include "claim/route_facts.h"
#include "core/clock.h"
#include "core/job.h"
#include "store/queue_store.h"

namespace waybill {

// `asked_at` is this host's time when the claim was asked for.
std::vector<Job> jobs_of(Claimed claimed, ClaimToken token, Clock::Monotonic asked_at,
                         const std::function<const RouteFacts&(RouteId)>& facts_of);

}  // namespace waybill
