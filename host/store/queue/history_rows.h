// Reads the columns of the part `history` (store/parts.sql).
#pragma once

#include <cstdint>

#include "domain/history.h"

namespace waybill {

template <class OneRow>
History read_history(const OneRow& row) {
  return {.attempt_count = static_cast<std::uint32_t>(row.attempt_count()),
          .uncounted = static_cast<std::uint32_t>(row.uncounted()),
          .lease_lost = static_cast<std::uint32_t>(row.lease_lost()),
          .maybe_sent = row.maybe_sent()};
}

}  // namespace waybill
