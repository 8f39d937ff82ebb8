// The statement that settles a batch, made at compile time of its columns and the template in sql/settle.sql, and a batch as its
// parameters.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "store/settle_columns.h"

namespace waybill {

// The settlements of one shard, in the form that the statement takes.
class SettleBatch {
 public:
  explicit SettleBatch(std::span<const Settlement> batch);

  // The text that fits what is to be sent.
  const Statement& statement() const;
  Parameters take(Shard shard) const;

  // The columns of its answer, a row for each settlement whose claim held.
  static constexpr int kDelivery = 0, kToken = 1, kSubmission = 2;

 private:
  std::size_t sort_of(const Settlement& s);

  std::span<const Settlement> batch_;
  std::vector<const Settlement*> sorts_;  // the first of each
  std::vector<std::size_t> sort_;         // of each settlement, counted from 1
};

}  // namespace waybill
