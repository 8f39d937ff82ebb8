// Applying migrations: the files of schema/, embedded, in order, forward only.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "store/lock_wait.h"
#include "store/pg.h"
#include "store/schema_version.h"

namespace waybill {

// Whose the schema's tables are, or will be once it is there.
struct SchemaOwner {
  std::string session;  // the role that is connected
  std::string name;
  bool may_act = false;  // the session is that role, a member of it, or may make what is not there
};
Result<SchemaOwner> schema_owner(Connection& connection, const std::string& schema);
// The same; and from here on the session acts as that role, if it may, so that what a member makes belongs to the owner.
Result<SchemaOwner> become_owner(Connection& connection, const std::string& schema);

// Applies what is missing; each migration in a transaction of its own. Safe to run from several processes at once. Refuses
// (Error::invalid) a database that is newer than this program may use, one that lacks something when the session may not act as
// its owner, and a migration that living hosts cannot run beside; it names them. Roles that were set up have their rights on what
// is new at once. A lock that others hold is tried again until it is free; `tell` hears whom it waits for. Answers the names of
// what it applied.
Result<std::vector<std::string>> migrate(const DatabaseAddress& address, const TellWait& tell = {},
                                         const std::vector<Migration>& all = migrations());

}  // namespace waybill
