// What keeps the road open: liveness, rescue and periodic tasks, each on a thread of its own, so that none waits for another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "upkeep/liveness.h"
#include "upkeep/rescuer.h"
#include "upkeep/task_runner.h"

namespace waybill {

struct UpkeepHooks {
  std::function<void()> wake;                              // there may be something to claim
  std::function<void()> rescued;                           // see LivenessHooks
  std::function<OpenClaims()> open_claims;                 // see LivenessHooks
  std::function<void(const std::string& why)> outdated{};  // see LivenessHooks
};

// Safe from any thread.
class Upkeep {
 public:
  // The stores beside the presence are the rescuer's.
  Upkeep(Presence& presence, RescueStore& rescue, QueueStore& queue, SettleStore& settle, std::vector<PeriodicTask> tasks,
         const Clock& clock, const UpkeepSettings& settings, const UpkeepHooks& hooks, Log& log, Metrics& metrics);

  std::optional<HostId> host() const { return liveness_.host(); }  // none while this host has no presence
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
