// Which schema a database has, and which programs may use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/pg.h"

namespace waybill {

struct Migration {
  int version;
  std::string_view name;  // "0001_spine"
  std::string_view sql;
  int runs_beside;  // the oldest version whose programs may go on while this is applied and after; `version`: none older
};
std::vector<Migration> migrations();  // ascending
int program_version();                // of the newest migration

// What a migration's first lines declare: `-- Runs beside: 14`, or `none`. Without such a line, or one that makes no sense, none.
int runs_beside(std::string_view sql, int version);

struct SchemaState {
  int database = 0;  // 0: nothing there yet, or nothing that this role may read
  int needs = 0;     // programs of an older version than this must not use it
  int program = 0;
  bool is_too_new() const { return needs > program; }
  bool is_too_old() const { return database < program; }
};
// As it is, whatever that means for this program.
Result<SchemaState> look_at_schema(Connection& connection, int program = program_version());
// The same of a database that perhaps has no schema. Error::invalid when it is too new.
Result<SchemaState> schema_state(const DatabaseAddress& address);
Result<SchemaState> schema_state(Connection& connection);
// An error when a program may not use this, with what to do.
Result<void> refuse_too_new(const SchemaState& state);
Result<void> refuse_unfit(const SchemaState& state);  // too new or too old

}  // namespace waybill
