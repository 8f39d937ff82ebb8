// What an error of PostgreSQL means for whoever met it. docs/operations/database-errors.md is the same table in words.
#pragma once

#include <cstdint>
#include <string_view>

namespace waybill {

enum class Remedy : std::uint8_t {
  none,         // the same can never succeed: it is the data, or a statement of ours
  wait,         // the same may succeed in a moment
  new_session,  // the same may succeed, but not in this session
};

// Of an SQLSTATE of five characters; "" when the server gave none.
Remedy remedy_for(std::string_view sqlstate);

}  // namespace waybill
