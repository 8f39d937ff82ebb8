// The schema's versions: the files of schema/, embedded, applied in order, forward only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "store/pg.h"

namespace waybill {

struct Migration {
  int version;
  std::string_view name;  // "0001_spine"
  std::string_view sql;
};
std::vector<Migration> migrations();  // ascending

struct SchemaState {
  int database = 0;  // 0: nothing there yet, or nothing that this role may read
  int program = 0;
};
Result<SchemaState> schema_state(const DatabaseAddress& address);
Result<SchemaState> schema_state(Connection& connection, const std::string& schema);

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
// (Error::invalid) a database that is newer than this program, and one that lacks something when the session may not act as its
// owner. Roles that were set up have their rights on what is new at once. Answers the names of what it applied.
Result<std::vector<std::string>> migrate(const DatabaseAddress& address);

}  // namespace waybill
