// The host's place among the hosts: its row and its advisory lock, and the leases of its claims.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/pg/pg.h"
#include "store/pg/schema_version.h"

namespace waybill {

// The liveness of this host: its row in `hosts` and the session with its advisory lock. One thread at a time.
class HostLiveness {
 public:
  // `knows`: the schema version of the program. `lease`: after that the server gives up a session whose host it cannot reach.
  HostLiveness(DatabaseAddress address, std::string name, int knows = program_version(), Millis lease = Seconds(60));
  // Ensures that the session is alive and the host is registered. After a loss it is the same host again; if another host rescued
  // it meanwhile, it gets a new id. Returns the id to claim with.
  Result<HostId> keep();
  // The database's, as keep() was told; none: the last one was told nothing.
  std::optional<Timestamp> time() const { return time_; }
  // As keep() saw it last, even if it failed. With a schema that is too new a registered host learns of it here, and no host
  // registers.
  const SchemaState& schema() const { return schema_; }
  // Renews the lease of claims of this host from now. Skips claims that another session is writing, and those that are gone.
  Result<void> renew(Shard shard, std::span<const ClaimToken> claims, Millis lease);
  // The same for the places of organisations whose channels this host serves.
  Result<void> renew_channels(Millis lease);
  // Unregisters the host; requires that nothing is claimed.
  void leave();

 private:
  void look(Connection& connection);
  Result<bool> come_back(Connection& session);

  DatabaseAddress address_;
  std::string name_;
  std::optional<Connection> connection_;
  HostId id_;
  const int knows_;
  const Millis lease_;
  SchemaState schema_;
  std::optional<Timestamp> time_;
  std::string session_;  // the server's process id of the last session
};

}  // namespace waybill
