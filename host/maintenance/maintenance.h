// Liveness, rescue and periodic tasks, each on a thread of its own, so that none waits for another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maintenance/liveness.h"
#include "maintenance/rescuer.h"
#include "maintenance/task_runner.h"

namespace waybill {

struct MaintenanceHooks {
  std::function<void()> wake;                                               // there may be due work
  std::function<void()> rescued;                                            // see LivenessHooks
  std::function<OpenClaims()> open_claims;                                  // see LivenessHooks
  std::function<void(const std::string& why)> outdated{};                   // see LivenessHooks
  std::function<void(Timestamp now, Clock::Monotonic at)> database_time{};  // see LivenessHooks
};

// Safe from any thread.
class Maintenance {
 public:
  // All stores except `liveness` belong to the rescuer.
  Maintenance(HostLiveness& liveness, RescueStore& rescue, QueueStore& queue, SettleStore& settle,
              std::vector<PeriodicTask> tasks, const Clock& clock, const MaintenanceSettings& settings,
              const MaintenanceHooks& hooks, Log& log, Metrics& metrics);

  void start();
  std::optional<HostId> host() const { return liveness_.host(); }  // none while this host holds no liveness lock
  bool is_up() const { return host().has_value(); }
  // For after a failover, when settled rows may be back: re-registers claims missing from `claims`, and examines all claims now.
  void look_everywhere();
  void look_at_claims() { rescuer_.look_everywhere(); }  // without the search for missing ones
  void stop();

 private:
  Liveness liveness_;
  Rescuer rescuer_;
  TaskRunner tasks_;
};

}  // namespace waybill
