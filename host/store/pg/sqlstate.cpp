// One row for each class or code that is not simply waited for.
#include "store/pg/sqlstate.h"

namespace waybill {
namespace {

struct Row {
  std::string_view prefix;
  Remedy remedy;
};

// The first that fits counts.
constexpr Row kRows[] = {
    // Something of the database's is missing, and people put it there while we run: a grant, a migration, a schema restored. What
    // was prepared before is no good then.
    {"42501", Remedy::new_session},  // no right
    {"42P01", Remedy::new_session},  // no table
    {"42703", Remedy::new_session},  // no column
    {"42883", Remedy::new_session},  // no function
    {"42704", Remedy::new_session},  // no type or other object
    {"3F", Remedy::new_session},     // no schema
    {"22", Remedy::none},            // the data: out of range, no UTF-8, no JSON
    {"23", Remedy::none},            // a constraint, or a guard of ours
    {"42", Remedy::none},            // a statement that is wrong
    {"54", Remedy::none},            // larger than the server can hold
    {"08", Remedy::new_session},     // the connection
    {"0A", Remedy::new_session},     // a prepared statement whose result has changed
    {"25", Remedy::new_session},     // read-only, or out of step with the transaction
    {"26", Remedy::new_session},     // a prepared statement that is gone
    {"57P", Remedy::new_session},    // shut down, or terminated by an administrator
    {"58", Remedy::new_session},     // the server's system
    {"XX", Remedy::new_session},     // the server itself
};

}  // namespace

Remedy remedy_for(std::string_view sqlstate) {
  for (const auto& row : kRows)
    if (sqlstate.starts_with(row.prefix)) return row.remedy;
  return Remedy::wait;
}

bool is_lock_timeout(const Error& error) { return error.what.ends_with("[55P03]"); }
bool is_unique_violation(const Error& error) { return error.what.ends_with("[23505]"); }
bool is_foreign_key_violation(const Error& error) { return error.what.ends_with("[23503]"); }

}  // namespace waybill
