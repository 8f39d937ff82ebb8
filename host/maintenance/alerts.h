// Sends notifications of incidents to the alert target, as submissions, and raises those incidents that need a search.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/contract.h"
#include "maintenance/periodic_tasks.h"
#include "store/intake/intake_store.h"
#include "store/operations/alert_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

struct AlertNotifierSettings {
  int shards = 1;
  Millis quiet{15 * 60'000};
  Millis stuck{15 * 60'000};
  Millis digest_every{60 * 60'000};
};

// One thread at a time: the task runner's, through tasks(). Any number of hosts may run it; each notification is sent once.
class AlertNotifier {
 public:
  // `target` returns the present contract of the alert target; none: incidents are recorded, logged and counted, not sent.
  // `blocked_reason` returns why this host cannot run an action type, or "". `wake` is called when a notification is due.
  AlertNotifier(AlertStore& alerts, IntakeStore& intake, AlertNotifierSettings settings,
                std::function<std::optional<Contract>()> target,
                std::function<std::string(const std::string& action_type)> blocked_reason, std::function<void()> wake, Log& log,
                Metrics& metrics);

  std::vector<PeriodicTask> tasks();
  Result<void> notify();
  Result<void> look_for_stuck();
  Result<void> digest_failures();

 private:
  Result<void> notify(const Notification& notification);
  Result<void> hand_in(const Notification& notification, const Contract& target);

  AlertStore& alerts_;
  IntakeStore& intake_;
  const AlertNotifierSettings settings_;
  const std::function<std::optional<Contract>()> target_;
  const std::function<std::string(const std::string&)> blocked_reason_;
  const std::function<void()> wake_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace waybill
