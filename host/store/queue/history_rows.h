// Reads the columns of the part `history` (parts.sql).
#pragma once

#include "domain/history.h"
#include "store/submissions/read_rows.h"

namespace waybill {

inline History read_history(const Rows& rows, std::size_t row, int first) {
  return {.attempt_count = static_cast<std::uint32_t>(rows.number(row, first)),
          .uncounted = static_cast<std::uint32_t>(rows.number(row, first + 1)),
          .lease_lost = static_cast<std::uint32_t>(rows.number(row, first + 2)),
          .maybe_sent = rows.flag(row, first + 3)};
}

}  // namespace waybill
