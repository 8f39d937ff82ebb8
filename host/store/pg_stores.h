// The stores on PostgreSQL.
#pragma once

#include "store/alerts.h"
#include "store/intake_store.h"
#include "store/pg.h"
#include "store/queue_store.h"
#include "store/read_store.h"
#include "store/schema_version.h"
#include "store/settle_store.h"
#include "store/token_store.h"
#include "store/upkeep_store.h"

namespace waybill {

std::unique_ptr<IntakeStore> make_intake_store(const DatabaseAddress& address);
std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address);
std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address);
std::unique_ptr<UpkeepStore> make_upkeep_store(const DatabaseAddress& address);
std::unique_ptr<ReadStore> make_read_store(const DatabaseAddress& address, int shards);
std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address);
std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address);

// How many shards this database was created with.
Result<int> read_shards(const DatabaseAddress& address);

// A living host: its row in `hosts` and the session whose advisory lock says that it lives. One thread at a time.
class Presence {
 public:
  // `knows`: the schema version of the program.
  Presence(DatabaseAddress address, std::string name, int knows = program_version());
  // Makes sure that the session lives; after a loss, registers anew under another id. The id to claim with.
  Result<HostId> keep();
  // As keep() saw it last, also when that failed. Of a schema that is too new, a host that is there already is told; none
  // registers.
  const SchemaState& schema() const { return schema_; }
  // An orderly end: nothing is claimed any more.
  void leave();

 private:
  bool look(Connection& connection);

  DatabaseAddress address_;
  std::string name_;
  std::optional<Connection> connection_;
  HostId id_;
  const int knows_;
  SchemaState schema_;
};

}  // namespace waybill
