// What a host does that could not store what came in: it finds out by itself when it can again.
#pragma once

#include <vector>

#include "intake/store_health.h"
#include "maintenance/periodic_tasks.h"
#include "store/operations/maintenance_store.h"

namespace waybill {

// While the last try of one of these failed, stores something every two seconds and takes it back. Whoever asks /readyz sends no
// requests to a host that is not ready, so nobody else would find out. The log tells why it fails. The parts must outlive the
// task.
PeriodicTask store_probe(MaintenanceStore& store, std::vector<StoreHealth*> healths);

}  // namespace waybill
