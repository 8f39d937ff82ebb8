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

// Of a migration that is being applied.
struct MigrationPlace {
  std::string name;
  std::size_t nth = 1, total = 1;   // of the pending ones
  std::size_t step = 0, steps = 1;  // of its own, from 0
};
// Called before each step.
using StepBegins = std::function<void(const MigrationPlace&)>;

// The migrations of `all` that the database lacks. Error::invalid if it is older than the first of them leads on from.
Result<std::vector<Migration>> pending_of(const SchemaState& state, const std::vector<Migration>& all);

// Applies missing migrations. Safe to run from several processes at once, and again after it was killed at any moment. Those
// beside which the hosts may run are applied statement by statement (migration_steps.h); the first one, and those that need a
// pause, each in one transaction. Refuses (Error::invalid) a database too new or too old for this program, one that needs
// migrations if the session may not act as its owner, and a migration that living hosts cannot run beside; it names them. Roles
// that were set up get their rights on new tables. Retries locks until they are free; `report` is called with the sessions that
// it waits for, perhaps by another thread. Returns the names of the applied migrations. Afterwards the schema's functions are
// those of this program, unless the database is newer.
Result<std::vector<std::string>> migrate(const DatabaseAddress& address, const ReportWait& report = {},
                                         const std::vector<Migration>& all = migrations(),
                                         const SqlFunctions& functions = embedded_functions(), const StepBegins& begins = {});

}  // namespace waybill
