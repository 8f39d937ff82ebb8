// What a host does that is cut off: it says so, and tries to reach something again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "limits/host_reach.h"
#include "maintenance/periodic_tasks.h"
#include "registry/registry.h"
#include "services/transports.h"
#include "store/operations/maintenance_store.h"
#include "telemetry/log.h"

namespace waybill {

// Connects to what has this cooldown key, and sends nothing: whether that succeeds. None if nobody says where it is.
using Reaches = std::function<std::optional<bool>(const std::string& cooldown_key)>;

struct ReachWays {
  std::function<std::optional<HostId>()> host;         // none while it is not registered
  std::function<std::vector<std::string>()> all_keys;  // of targets and senders: see cooldown_keys()
  Reaches reaches;
  std::function<void()> recovered;  // it may claim again
};

// While the host is cut off, connects once a second to a destination, in turn to one that others reach and to any. A connection
// ends it, and so does the end of the others. Where none of them says where it is, as channels do not, the host tries again with
// work: after half a minute, and each time in vain after twice as long, up to ten minutes. What does not leave costs no attempt.
PeriodicTask reach_task(HostReach& reach, MaintenanceStore& store, ReachWays ways, const Clock& clock, Log& log);

std::vector<std::string> cooldown_keys(const Registry& registry);

// Targets are reached by their URL, a sender of mail by its relay.
Reaches reaches_by_connecting(std::map<std::string, std::string> senders, std::shared_ptr<const EgressPolicy> policy,
                              std::function<std::shared_ptr<const Registry>()> registry,
                              std::function<std::shared_ptr<const Transport>(const Contract&)> transport);

}  // namespace waybill
