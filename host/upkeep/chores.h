// What upkeep does again and again beside looking for the dead.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"
#include "core/time.h"
#include "store/forms.h"
#include "store/upkeep_store.h"
#include "telemetry/log.h"
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
// Claims that are taken back by their leases are found by a list of claims. Should one ever be missing there, this finds it.
Chore lost_claims(UpkeepStore& store, Log& log);
// Outages that nothing has been heard of for long are forgotten: their targets are in use no more.
Chore old_outages(UpkeepStore& store, Millis outage, Log& log);
// Submissions of forms that are in processing for longer than an action's turn go on if they can.
Chore form_sweep(FormStore& store, int shards, std::function<void()> wake);
// What is not kept any more is erased.
Chore form_retention(FormStore& store, int shards, Log& log);

}  // namespace waybill
