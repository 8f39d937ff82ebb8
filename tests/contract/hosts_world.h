// Hosts that live and die on a database of the test's own.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "contract/store_world.h"
#include "store/queue/host_liveness.h"
#include "support/eventually.h"

namespace waybill::testing {

class HostsWorld : public StoreWorld {
 protected:
  std::string holders_of(HostId host) const {
    return " FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = "
           "current_database()) "
           "AND objid = " +
           std::to_string(host.value);
  }
  // Ends the session that holds a host's advisory lock, as its machine's death would.
  void kill(HostId host) {
    sql.rows("SELECT pg_terminate_backend(pid)" + holders_of(host));
    ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*)" + holders_of(host)) == 0; }));
  }
  // Until a lost session was noticed and replaced.
  HostId kept(HostLiveness& liveness) {
    std::optional<HostId> id;
    EXPECT_TRUE(eventually([&] {
      const auto kept = liveness.keep();
      if (kept) id = *kept;
      return kept.has_value();
    }));
    return id.value_or(HostId{});
  }
  static std::vector<HostObservation> seen(RescueStore& by, HostId self) {
    const auto hosts = by.hosts(self);
    EXPECT_TRUE(hosts) << hosts.error().what;
    return hosts.value_or(std::vector<HostObservation>{});
  }
  std::vector<HostObservation> dead(HostId self) {
    auto hosts = seen(*rescue, self);
    std::erase_if(hosts, [](const HostObservation& host) { return host.lives; });
    return hosts;
  }
};

}  // namespace waybill::testing
