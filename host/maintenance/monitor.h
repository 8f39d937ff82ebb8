// The state of the queue by action type, in the log and in the metrics.
#pragma once

#include "maintenance/periodic_tasks.h"
#include "store/operations/monitor_store.h"

namespace waybill {

// An action type is logged while its queue is not empty, and once more when it is empty again.
PeriodicTask monitor(MonitorStore& store, Millis every, Log& log, Metrics& metrics);
// Gauges of what waits: dead letters, cooldowns, submissions by state. Set every ten seconds.
PeriodicTask standing_counts(MonitorStore& store, Log& log, Metrics& metrics);
// Of the service level objective: what is open for longer than promised, and the names of organisations that metrics need.
PeriodicTask objective(MonitorStore& store, Millis promised, Log& log, Metrics& metrics);

}  // namespace waybill
