// The schema version of a database, and which programs may use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/pg/pg.h"

namespace waybill {

struct Migration {
  int version;
  std::string_view name;  // "0055_first"
  std::string_view sql;
  int runs_beside;  // the oldest version that may run during and after it; equal to `version`: no older one
};
std::vector<Migration> migrations();  // ascending
int program_version();                // the newest migration's

// The declaration in a migration's first lines: `-- Runs beside: 14`, or `none`. A missing or malformed line means none.
int runs_beside(std::string_view sql, int version);

struct SchemaState {
  int database = 0;  // 0: no schema yet, or none that this role may read
  int needs = 0;     // the oldest program version that may use it
  int program = 0;
  bool is_too_new() const { return needs > program; }
  bool is_too_old() const { return database < program; }
};
// Reads the state without judging it.
Result<SchemaState> look_at_schema(Connection& connection, int program = program_version());
// The same; the schema need not exist. Error::invalid if it is too new.
Result<SchemaState> schema_state(const DatabaseAddress& address);
Result<SchemaState> schema_state(Connection& connection);
// What is said of a database whose version this program does not lead on from: `first` is the oldest that it does.
Error too_old_to_migrate(int database, int first);
// An error, with what to do, if this program may not use the schema.
Result<void> refuse_too_new(const SchemaState& state);
Result<void> refuse_unfit(const SchemaState& state);  // too new or too old

}  // namespace waybill
