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
  int database = 0;  // 0: nothing there yet
  int program = 0;
};
Result<SchemaState> schema_state(const DatabaseAddress& address);

// Applies what is missing; each migration in a transaction of its own. Safe to run from several processes at once. Refuses
// (Error::invalid) a database that is newer than this program. Answers the names of what it applied.
Result<std::vector<std::string>> migrate(const DatabaseAddress& address);

}  // namespace waybill
