// What upkeep does again and again beside looking for the dead.
#pragma once

#include <functional>
#include <string>

#include "core/clock.h"
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
  std::function<bool()> is_wanted = {};  // sooner than that; null for never
};

Chore queue_numbers(UpkeepStore& store, Metrics& metrics);
Chore partitions(UpkeepStore& store);
// Claims that are taken back by their leases are found by a list of claims. What is missing there is found by this: now and then,
// and for a minute after a session was replaced, as that may be on another server, which may lack what was committed last.
// `sessions` counts those of the sign of life that were opened so far.
Chore lost_claims(UpkeepStore& store, Log& log, const Clock& clock, std::function<std::uint64_t()> sessions);
// Submissions of forms that are in processing for longer than an action's turn go on if they can.
Chore form_sweep(FormStore& store, int shards, std::function<void()> wake);
// What is not kept any more is erased.
Chore form_retention(FormStore& store, int shards, Log& log);

}  // namespace waybill
