// The statement that settles a batch, assembled at compile time from its columns, and a batch as its parameters.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "store/queue/settle.sql.h"
#include "store/queue/settle_columns.h"

namespace waybill {

// The settlements of one shard as parameters of the statement.
class SettleBatch {
 public:
  explicit SettleBatch(std::span<const Settlement> batch);

  // The variant that fits this batch. It answers a row for each settlement whose token was still valid.
  const Query<sql::settle_row>& statement() const;
  Parameters take(Shard shard) const;

 private:
  std::size_t sort_of(const Settlement& s);

  std::span<const Settlement> batch_;
  std::vector<const Settlement*> sorts_;  // the first of each
  std::vector<std::size_t> sort_;         // of each settlement, counted from 1
};

}  // namespace waybill
