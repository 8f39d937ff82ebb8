// The schema's functions, each with its one text in schema/functions/: they are not migrated, they are brought up to date.
#pragma once

#include <string>

#include "store/pg/lock_wait.h"
#include "store/pg/pg.h"

namespace waybill {

struct SqlFunctions {
  std::string sql;   // all of them, as CREATE OR REPLACE
  std::string hash;  // of that text
};
SqlFunctions embedded_functions();

// In one transaction, and nothing at all if the database has these texts already. The session acts as the owner of the schema.
Result<void> bring_up_to_date(Connection& connection, const DatabaseAddress& address, const SqlFunctions& functions,
                              const ReportWait& report);

}  // namespace waybill
