// A named statement. All of them stand in the rooms beside the code that runs them; the build makes `sql::NAME` of each, in
// store/ROOM/FILE.sql.h, and of its `-- returns:` a row type.
#pragma once

#include <cstdint>
#include <span>

namespace waybill {

// What a statement answers in one place of each row.
struct Column {
  enum class Kind : std::uint8_t { number, flag, time, text };
  const char* name;
  Kind kind;
  bool may_be_null;
};

// Prepared once per connection, under its name.
struct Statement {
  const char* name;
  const char* sql;
  std::span<const Column> columns{};
};

// One whose answers are rows of that type.
template <class OneRow>
struct Query : Statement {};

// Every statement of these files, but for what is expanded from a template (see settle_statement.h).
std::span<const Statement> all_statements();

}  // namespace waybill
