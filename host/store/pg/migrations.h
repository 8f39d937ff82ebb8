// Applies migrations: the embedded files of schema/, in order, forward only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/pg/lock_wait.h"
#include "store/pg/pg.h"
#include "store/pg/schema_version.h"
#include "store/pg/sql_functions.h"

namespace waybill {

// The owner of the schema's tables, or their future owner if it does not exist yet.
struct SchemaOwner {
  std::string session;  // the role that is connected
  std::string name;
  bool may_act = false;  // the session is that role, a member of it, or may create the schema
};
Result<SchemaOwner> schema_owner(Connection& connection, const std::string& schema);
// The same, and the session acts as that role from now on, if it may, so that what a member creates belongs to the owner.
Result<SchemaOwner> become_owner(Connection& connection, const std::string& schema);

// Called before each migration that is applied.
using MigrationBegins = std::function<void(const std::string& name, std::size_t nth, std::size_t total)>;

// Applies missing migrations, each in a transaction of its own. Safe to run from several processes at once. Refuses
// (Error::invalid) a database too new for this program, one that needs migrations if the session may not act as its owner, and a
// migration that living hosts cannot run beside; it names them. Roles that were set up get their rights on new tables in the same
// transaction. Retries locks until they are free; `report` is called with the sessions that it waits for. Returns the names of
// the applied migrations. Afterwards the schema's functions are those of this program, unless the database is newer.
Result<std::vector<std::string>> migrate(const DatabaseAddress& address, const ReportWait& report = {},
                                         const std::vector<Migration>& all = migrations(),
                                         const SqlFunctions& functions = embedded_functions(),
                                         const MigrationBegins& begins = {});

}  // namespace waybill
