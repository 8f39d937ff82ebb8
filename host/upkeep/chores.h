// What upkeep does again and again beside looking for the dead.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"
#include "core/time.h"
#include "store/store.h"
#include "telemetry/metrics.h"

namespace waybill {

// Run by upkeep's sweeping thread alone, so the stores that it uses need no lock. It is due again `every` after its end, later if
// it took long.
struct Chore {
  std::string name;  // for the log
  Millis every;
  std::function<Result<void>()> run;
};

Chore queue_numbers(UpkeepStore& store, Metrics& metrics);
Chore partitions(UpkeepStore& store);

}  // namespace waybill
