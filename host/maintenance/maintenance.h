// What keeps the pipeline open: liveness, rescue and periodic tasks, each on a thread of its own, so that none waits for another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maintenance/liveness.h"
#include "maintenance/rescuer.h"
#include "maintenance/task_runner.h"

namespace waybill {

struct MaintenanceHooks {
  std::function<void()> wake;                              // there may be something to claim
  std::function<void()> rescued;                           // see LivenessHooks
  std::function<OpenClaims()> open_claims;                 // see LivenessHooks
  std::function<void(const std::string& why)> outdated{};  // see LivenessHooks
};

// Safe from any thread.
class Maintenance {
 public:
  // The stores beside the liveness are the rescuer's.
  Maintenance(HostLiveness& liveness, RescueStore& rescue, QueueStore& queue, SettleStore& settle,
              std::vector<PeriodicTask> tasks, const Clock& clock, const MaintenanceSettings& settings,
              const MaintenanceHooks& hooks, Log& log, Metrics& metrics);

  void start();
  std::optional<HostId> host() const { return liveness_.host(); }  // none while this host has no liveness
  bool is_up() const { return host().has_value(); }
  // After a failover rows may be back that were settled: finds claims that are missing in the list, and looks at all that are
  // there.
  void look_everywhere();
  void look_at_claims() { rescuer_.look_everywhere(); }  // without looking for those that are missing in the list
  void stop();

 private:
  Liveness liveness_;
  Rescuer rescuer_;
  TaskRunner tasks_;
};

}  // namespace waybill
