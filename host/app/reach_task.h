// What a host does that is cut off: it says so, and tries to reach something again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "egress/egress_policy.h"
#include "limits/host_reach.h"
#include "maintenance/periodic_tasks.h"
#include "registry/registry.h"
#include "services/transports.h"
#include "store/maintenance_store.h"
#include "telemetry/log.h"

namespace waybill {

struct ReachWays {
  std::function<std::optional<HostId>()> host;  // none while it is not registered
  std::function<std::shared_ptr<const Registry>()> registry;
  std::function<std::shared_ptr<const Transport>(const Contract&)> transport;
  std::function<void()> recovered;  // it may claim again
};

// While the host is cut off, connects once a second to a target, in turn to one that others reach and to any of the registry, and
// sends nothing. A connection ends it, and so does the end of the others. Where there is no URL to connect to, as for a sender
// of forms, the host tries again with work after half a minute: what does not leave costs no attempt.
PeriodicTask reach_task(HostReach& reach, MaintenanceStore& store, std::shared_ptr<const EgressPolicy> policy, ReachWays ways,
                        const Clock& clock, Log& log);

}  // namespace waybill
