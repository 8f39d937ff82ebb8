// The periodic tasks of a host, apart from liveness and rescue.
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

// Runs on the task runner's thread only, so its stores need no lock. Due again `every` after its end, later if it took long.
struct PeriodicTask {
  std::string name;  // for the log
  Millis every;
  std::function<Result<void>()> run;
  std::function<bool()> is_wanted = {};  // run sooner; null: never
};

PeriodicTask queue_numbers(MaintenanceStore& store, Metrics& metrics);
PeriodicTask partitions(MaintenanceStore& store);
// Re-registers claims that are missing from the table `claims`, which rescue relies on, then calls `found`. Runs now and then,
// and more often for a minute after a session was replaced: the new server may lack the last commits of the old one. `sessions`
// returns the number of liveness sessions opened so far.
inline constexpr char kLostClaims[] = "orphaned_claims";
PeriodicTask orphaned_claims(MaintenanceStore& store, std::function<void()> found, std::function<std::uint64_t()> sessions,
                             const Clock& clock, Log& log);
// Deletes outages without news for long: their targets are no longer in use.
PeriodicTask old_outages(MaintenanceStore& store, Millis outage, Log& log);
// Advances forms' submissions that have been processing for longer than an action's turn, if they can go on.
PeriodicTask form_sweep(FormStore& store, int shards, std::function<void()> wake, Log& log);
// Purges forms' submissions whose retention has expired.
PeriodicTask form_retention(FormStore& store, int shards, Log& log);

}  // namespace waybill
