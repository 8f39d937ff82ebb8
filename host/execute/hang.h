// What follows when a sender does not come back from its plugin.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "domain/job.h"

namespace waybill {

// A sender did not come back from its plugin and was given up, or the plugin's process died.
struct Hang {
  std::string action_type;
  std::string died;                // how its process ended; "": it hangs
  std::shared_ptr<const Job> job;  // that it was inside of; null: of none that is open
  Millis pause;                    // the action type is not run here for so long; 0: it goes on at once
};
using HangSink = std::function<void(const Hang&)>;  // from the watching thread

// From the hang number `after` on, each less than `forgotten` behind the one before it, the action type pauses, each time twice
// as long.
struct HangLimits {
  std::size_t after = 3;
  Millis pause{30'000};
  Millis longest{30 * 60'000};
  Millis forgotten{2 * 60 * 60'000};
};

}  // namespace waybill
