// A named statement. All of them stand in sql/*.sql; the build makes `constexpr Statement sql::NAME` of each, in
// store/sql/FILE.h.
#pragma once

#include <span>

namespace waybill {

// Prepared once per connection, under its name.
struct Statement {
  const char* name;
  const char* sql;
};

// Every statement of sql/*.sql, but for what is expanded from a template (see settle_statement.h).
std::span<const Statement> all_statements();

}  // namespace waybill
