// The three threads of upkeep, put together.
#include "upkeep/upkeep.h"

namespace waybill {

Upkeep::Upkeep(Presence& presence, RescueStore& rescue, QueueStore& queue, SettleStore& settle, std::vector<PeriodicTask> tasks,
               const Clock& clock, const UpkeepSettings& settings, const UpkeepHooks& hooks, Log& log, Metrics& metrics)
    : liveness_(presence, clock, {settings.actor, settings.takeover, settings.lease},
                {hooks.wake, hooks.rescued, hooks.open_claims, hooks.outdated}, log, metrics),
      rescuer_(
          rescue, queue, settle, clock, settings, [this] { return liveness_.is_outdated() ? std::nullopt : liveness_.host(); },
          hooks.wake, log, metrics),
      tasks_(
          std::move(tasks), clock, settings.takeover, [this] { return is_up() && !liveness_.is_outdated(); }, log) {}

void Upkeep::look_everywhere() {
  tasks_.hurry(kLostClaims);
  rescuer_.look_everywhere();
}

void Upkeep::stop() {
  tasks_.stop();
  rescuer_.stop();
  liveness_.stop();
}

}  // namespace waybill
