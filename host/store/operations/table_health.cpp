// Reading the server's statistics of tables and indexes.
#include "store/operations/table_health.h"

#include "store/operations/table_health.sql.h"

namespace waybill {

Result<std::vector<TableBehind>> tables_behind(Connection& connection) {
  const auto rows = connection.run(sql::tables_behind);
  TRY(rows);
  std::vector<TableBehind> all;
  for (const auto row : *rows)
    all.push_back({.name = std::string(row.name()),
                   .dead = row.dead(),
                   .awaited = row.awaited(),
                   .since_vacuum = Micros{value_or_zero(row.since_vacuum())},
                   .is_left_alone = row.is_left_alone()});
  return all;
}

Result<QueueSize> queue_size(Connection& connection) {
  const auto rows = connection.run(sql::queue_size);
  TRY(rows);
  return QueueSize{rows->front().bytes(), rows->front().about_rows()};
}

Result<std::vector<OddIndex>> odd_indexes(Connection& connection, std::int64_t least_bytes, Millis least_age) {
  const auto rows = connection.run(sql::odd_indexes, {std::to_string(least_bytes), std::to_string(least_age.count())});
  TRY(rows);
  std::vector<OddIndex> all;
  for (const auto row : *rows) all.push_back({std::string(row.name()), std::string(row.of_table()), row.is_valid(), row.bytes()});
  return all;
}

Result<std::vector<LogMonth>> months_of_logs(Connection& connection) {
  const auto rows = connection.run(sql::months_of_logs);
  TRY(rows);
  std::vector<LogMonth> all;
  for (const auto row : *rows)
    all.push_back({.log = std::string(row.log()),
                   .month = std::string(row.month()),
                   .months_ahead = static_cast<int>(row.months_ahead()),
                   .is_there = row.is_there(),
                   .default_has_rows = row.default_has_rows()});
  return all;
}

}  // namespace waybill
