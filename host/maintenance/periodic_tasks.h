// What a host does again and again beside liveness and rescue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/time.h"
#include "store/forms.h"
#include "store/maintenance_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Run by the task runner's thread alone, so the stores that it uses need no lock; no other thread uses them. It is due again
// `every` after its end, later if it took long.
struct PeriodicTask {
  std::string name;  // for the log
  Millis every;
  std::function<Result<void>()> run;
  std::function<bool()> is_wanted = {};  // sooner than that; null for never
};

PeriodicTask queue_numbers(MaintenanceStore& store, Metrics& metrics);
PeriodicTask partitions(MaintenanceStore& store);
// Rescue finds claims by a list of claims. What is missing there is found by this, which then calls `found`: now and then, and
// for a minute after a session was replaced, as that may be on another server, which may lack what was committed last. `sessions`
// counts the liveness sessions that were opened so far.
inline constexpr char kLostClaims[] = "orphaned_claims";
PeriodicTask orphaned_claims(MaintenanceStore& store, std::function<void()> found, std::function<std::uint64_t()> sessions,
                             const Clock& clock, Log& log);
// Outages that nothing has been heard of for long are forgotten: their targets are in use no more.
PeriodicTask old_outages(MaintenanceStore& store, Millis outage, Log& log);
// Submissions of forms that are in processing for longer than an action's turn go on if they can.
PeriodicTask form_sweep(FormStore& store, int shards, std::function<void()> wake, Log& log);
// What is not kept any more is erased.
PeriodicTask form_retention(FormStore& store, int shards, Log& log);

}  // namespace waybill
