// Creates the stores on PostgreSQL.
#pragma once

#include "store/alerts.h"
#include "store/intake_store.h"
#include "store/maintenance_store.h"
#include "store/pg.h"
#include "store/queue_store.h"
#include "store/read_store.h"
#include "store/rescue_store.h"
#include "store/schema_version.h"
#include "store/settle_store.h"
#include "store/token_store.h"

namespace waybill {

std::unique_ptr<IntakeStore> make_intake_store(const DatabaseAddress& address);
std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address);
std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address);
std::unique_ptr<RescueStore> make_rescue_store(const DatabaseAddress& address);
std::unique_ptr<MaintenanceStore> make_maintenance_store(const DatabaseAddress& address);
std::unique_ptr<ReadStore> make_read_store(const DatabaseAddress& address, int shards);
std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address);
std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address);

// The number of shards of this database.
Result<int> read_shards(const DatabaseAddress& address);

// The liveness of this host: its row in `hosts` and the session with its advisory lock. One thread at a time.
class HostLiveness {
 public:
  // `knows`: the schema version of the program.
  HostLiveness(DatabaseAddress address, std::string name, int knows = program_version());
  // Ensures that the session is alive and the host is registered. After a loss it is the same host again; if another host rescued
  // it meanwhile, it gets a new id. Returns the id to claim with.
  Result<HostId> keep();
  // As keep() saw it last, even if it failed. With a schema that is too new a registered host learns of it here, and no host
  // registers.
  const SchemaState& schema() const { return schema_; }
  // Renews the lease of claims of this host from now. Skips claims that another session is writing, and those that are gone.
  Result<void> renew(Shard shard, std::span<const ClaimToken> claims, Millis lease);
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
  SchemaState schema_;
  std::string session_;  // the server's process id of the last session
};

}  // namespace waybill
