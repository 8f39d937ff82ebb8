// Maps an error of PostgreSQL to a remedy. docs/operations/database-errors.md has the same table for operators.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace waybill {

enum class Remedy : std::uint8_t {
  none,         // the same can never succeed: bad data, or a bug of ours
  wait,         // the same may succeed in a moment
  new_session,  // the same may succeed in a new session
};

// `sqlstate` has five characters, or none if the server gave none.
Remedy remedy_for(std::string_view sqlstate);

// True if the statement failed because a lock was not free in time: nothing of it was carried out.
bool is_lock_timeout(const Error& error);

// True if a unique index refused a row.
bool is_unique_violation(const Error& error);

// True if a row names another one that is not there.
bool is_foreign_key_violation(const Error& error);

}  // namespace waybill
