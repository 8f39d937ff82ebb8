// What an error of PostgreSQL means for whoever met it. docs/operations/database-errors.md is the same table in words.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace waybill {

enum class Remedy : std::uint8_t {
  none,         // the same can never succeed: it is the data, or a statement of ours
  wait,         // the same may succeed in a moment
  new_session,  // the same may succeed, but not in this session
};

// Of an SQLSTATE of five characters; "" when the server gave none.
Remedy remedy_for(std::string_view sqlstate);

// True when the statement was refused because a lock was not to be had in time: nothing of it was carried out.
bool is_lock_timeout(const Error& error);

}  // namespace waybill
