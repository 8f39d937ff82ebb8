// Turns claimed rows into jobs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/job.h"
#include "store/queue_store.h"

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

// The bytes of a claimed row or job that count against limits.in_flight_bytes.
template <class RowOrJob>
std::size_t bytes_of(const RowOrJob& one) {
  return one.withheld ? 0 : one.body_bytes;
}

}  // namespace waybill
