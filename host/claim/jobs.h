// Turns claimed rows into jobs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "store/queue/queue_store.h"

namespace waybill {

// This host's clock before the claim was sent and after its answer came.
struct ClaimTimes {
  Clock::Monotonic asked, answered;
  Millis lease;
};

// `shares` says which routes are probes.
std::vector<Job> jobs_of(ClaimResult claimed, ClaimToken token, const ClaimTimes& times,
                         const std::function<std::shared_ptr<const Contract>(RouteId)>& contract_of,
                         std::span<const RouteShare> shares = {});

}  // namespace waybill
