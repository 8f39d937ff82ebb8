// Reads the columns `org_id`, `target`, `until`, `reason` and `since`.
#pragma once

#include <vector>

#include "store/pg/rows.h"
#include "store/queue/cooldown.h"

namespace waybill {

template <class OneRow>
std::vector<Cooldown> read_cooldowns(const RowsOf<OneRow>& rows) {
  std::vector<Cooldown> all;
  all.reserve(rows.size());
  for (const auto row : rows)
    all.push_back({{row.org_id()}, std::string(row.target()), row.until(), std::string(row.reason()), row.since()});
  return all;
}

}  // namespace waybill
