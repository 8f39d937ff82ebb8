// Tells incidents to the alert target, through the same engine as everything else, and looks for those that nobody raises.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/contract.h"
#include "store/alerts.h"
#include "store/intake_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "upkeep/periodic_tasks.h"

namespace waybill {

struct TellerSettings {
  int shards = 1;
  Millis quiet{15 * 60'000};
  Millis stuck{15 * 60'000};
  Millis digest_every{60 * 60'000};
};

// One thread at a time: the task runner's, through tasks(). Any number of hosts may do the same; each message is told once.
class Teller {
 public:
  // `target` answers the alert target's contract as it is now; none: incidents are recorded, logged and counted, not sent.
  // `hindrance` answers why this host cannot run an action type, or "". `wake` is called when there is something to be sent.
  Teller(AlertStore& alerts, IntakeStore& intake, TellerSettings settings, std::function<std::optional<Contract>()> target,
         std::function<std::string(const std::string& action_type)> hindrance, std::function<void()> wake, Log& log,
         Metrics& metrics);

  std::vector<PeriodicTask> tasks();
  Result<void> tell();
  Result<void> look_for_stuck();
  Result<void> digest_failures();

 private:
  Result<void> tell(const Telling& telling);
  Result<void> hand_in(const Telling& telling, const Contract& target);

  AlertStore& alerts_;
  IntakeStore& intake_;
  const TellerSettings settings_;
  const std::function<std::optional<Contract>()> target_;
  const std::function<std::string(const std::string&)> hindrance_;
  const std::function<void()> wake_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace waybill
