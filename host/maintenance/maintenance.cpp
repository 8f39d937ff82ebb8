// The three threads of maintenance, put together.
#include "maintenance/maintenance.h"

namespace waybill {

Maintenance::Maintenance(HostLiveness& liveness, RescueStore& rescue, QueueStore& queue, SettleStore& settle,
                         std::vector<PeriodicTask> tasks, const Clock& clock, const MaintenanceSettings& settings,
                         const MaintenanceHooks& hooks, Log& log, Metrics& metrics)
    : liveness_(liveness, clock, {settings.actor, settings.takeover, settings.lease},
                {hooks.wake, hooks.rescued, hooks.open_claims, hooks.outdated, hooks.database_time}, log, metrics),
      rescuer_(
          rescue, queue, settle, clock, settings, [this] { return liveness_.is_outdated() ? std::nullopt : liveness_.host(); },
          hooks.wake, log, metrics),
      tasks_(
          std::move(tasks), clock, settings.takeover, [this] { return is_up() && !liveness_.is_outdated(); }, log) {}

void Maintenance::start() {
  liveness_.start();
  rescuer_.start();
  tasks_.start();
}

void Maintenance::look_everywhere() {
  tasks_.hurry(kUnregisteredClaims);
  rescuer_.look_everywhere();
}

void Maintenance::stop() {
  tasks_.stop();
  rescuer_.stop();
  liveness_.stop();
}

}  // namespace waybill
