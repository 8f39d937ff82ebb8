// Moves pipelines' submissions that are over into the archive, and deletes what is old there.
#pragma once

#include "maintenance/periodic_tasks.h"
#include "store/operations/archive_store.h"

namespace waybill {

struct ArchiveSettings {
  ArchiveAges ages;
  Millis delete_after{0};  // 0: never
};

// Each run does a little, so that deliveries are not slowed down. What it could not move it passes over until the next walk.
PeriodicTask archive_task(ArchiveStore& store, int shards, const ArchiveSettings& settings, Log& log);

}  // namespace waybill
