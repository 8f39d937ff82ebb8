// The stores on PostgreSQL.
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

// How many shards this database was created with.
Result<int> read_shards(const DatabaseAddress& address);

// A living host: its row in `hosts` and the session whose advisory lock says that it lives. One thread at a time.
class HostLiveness {
 public:
  // `knows`: the schema version of the program.
  HostLiveness(DatabaseAddress address, std::string name, int knows = program_version());
  // Makes sure that the session lives and the host is registered. After a loss it is the same host again, unless another one
  // rescued it meanwhile: then it has a new id. The id to claim with.
  Result<HostId> keep();
  // As keep() saw it last, also when that failed. Of a schema that is too new, a host that is there already is told; none
  // registers.
  const SchemaState& schema() const { return schema_; }
  // Gives claims of this host a new lease from now on. Those that another session is just writing, or that are gone, are left
  // alone.
  Result<void> renew(Shard shard, std::span<const ClaimToken> claims, Millis lease);
  // An orderly end: nothing is claimed any more.
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
