// The periodic tasks of a host, apart from liveness and rescue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/time.h"
#include "store/forms/form_store.h"
#include "store/notifications/notify_store.h"
#include "store/operations/maintenance_store.h"
#include "store/operations/waiting_store.h"
#include "store/pipelines/pipeline_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Runs on the task runner's thread only, so its stores need no lock. Due again `every` after its end, later if it took long.
struct PeriodicTask {
  std::string name;  // for the log
  Millis every;
  std::function<Result<void>()> run;
  std::function<bool()> is_wanted = {};  // run sooner; null: never
  bool is_bounded = false;               // each run is short; due again `every` after it however long it took
};

PeriodicTask queue_numbers(MaintenanceStore& store, Metrics& metrics);
PeriodicTask partitions(MaintenanceStore& store);
// Re-registers claims that are missing from the table `claims`, which rescue relies on, then calls `found`. Runs now and then,
// and more often for a minute after a session was replaced: the new server may lack the last commits of the old one. Then it
// calls `again` too, which has this host delete once more what it was through with. `sessions` returns the number of liveness
// sessions opened so far.
inline constexpr char kUnregisteredClaims[] = "orphaned_claims";
PeriodicTask unregistered_claims(MaintenanceStore& store, std::function<void()> found, std::function<void()> again,
                                 std::function<std::uint64_t()> sessions, const Clock& clock, Log& log);
// Deletes outages without news for long: their targets are no longer in use.
PeriodicTask old_outages(MaintenanceStore& store, Millis outage, Log& log);
// Advances forms' submissions that have been processing for longer than an action's turn, if they can go on.
PeriodicTask form_sweep(FormStore& store, int shards, std::function<void()> wake, Log& log);
// Tries whether blocked submissions of pipelines can go on after all.
PeriodicTask pipeline_sweep(PipelineStore& store, int shards, std::function<void()> wake, Log& log);
// Sets the rates that pipelines declare as metrics: of what was handed in during the last day.
PeriodicTask pipeline_rates(PipelineStore& store,
                            std::function<std::vector<std::shared_ptr<const PipelineDefinition>>()> pipelines, Metrics& metrics);
// Purges forms' submissions whose retention has expired.
PeriodicTask form_retention(FormStore& store, int shards, Log& log);

// Deletes submissions that are past the age of their kind. Each run does a little, so that deliveries are not slowed down.
PeriodicTask retention(MaintenanceStore& store, int shards, std::vector<KeptKind> kinds, Log& log);
// Ends what waits although its own time is over, such as for a target in an outage: nobody claims it.
PeriodicTask expiry(MaintenanceStore& store, WaitingStore& waiting, std::string actor, Metrics& metrics);
// Notes which intents are whose, so that lists find them.
PeriodicTask listing(MaintenanceStore& store);
// Fans out events that have been without deliveries for `age`: another program stored them.
PeriodicTask orphaned_events(NotifyStore& store, Millis age, Log& log);
// Reminds of channels' second secrets that stay for longer than they should.
PeriodicTask old_secrets(NotifyStore& store);

}  // namespace waybill
