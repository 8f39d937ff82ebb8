// Judges the hosts of an installation by what each says of itself: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/finding.h"
#include "store/operations/queue_health.h"

namespace waybill {

Findings judge_hosts(const std::vector<RegisteredHost>& hosts);
Findings judge_host_versions(const std::vector<RegisteredHost>& hosts);  // of the program and of plugins
Findings judge_host_types(const std::vector<RegisteredHost>& hosts);     // action types that are switched off or paused
Findings judge_host_isolation(const std::vector<RegisteredHost>& hosts);
Findings judge_host_clocks(const std::vector<RegisteredHost>& hosts);

// A host's name, and the digest of the registry that it runs by; "": it has said nothing yet.
using HostDigests = std::vector<std::pair<std::string, std::string>>;
Finding judge_registries(const HostDigests& hosts, const std::string& here);
HostDigests digests_of(const std::vector<RegisteredHost>& hosts);

}  // namespace waybill
