// A named statement. All of them stand in the rooms beside the code that runs them; the build makes `constexpr Statement
// sql::NAME` of each, in store/ROOM/FILE.sql.h.
#pragma once

#include <span>

namespace waybill {

// Prepared once per connection, under its name.
struct Statement {
  const char* name;
  const char* sql;
};

// Every statement of these files, but for what is expanded from a template (see settle_statement.h).
std::span<const Statement> all_statements();

}  // namespace waybill
