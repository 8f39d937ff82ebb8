// How tables and indexes are, by the server's statistics: what `waybill doctor` asks. No table is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/pg/pg.h"

namespace waybill {

// One with more dead rows than autovacuum waits for, or that it leaves alone.
struct TableBehind {
  std::string name;
  std::int64_t dead = 0;     // rows
  std::int64_t awaited = 0;  // from so many on autovacuum comes
  Micros since_vacuum{0};    // or since the server's start
  bool is_left_alone = false;
};
Result<std::vector<TableBehind>> tables_behind(Connection& connection);

struct QueueSize {
  std::int64_t bytes = 0;
  std::int64_t about_rows = 0;
};
Result<QueueSize> queue_size(Connection& connection);

// One that is not valid; or a large one that nothing uses.
struct OddIndex {
  std::string name, table;
  bool is_valid = true;
  std::int64_t bytes = 0;
};
// `least_bytes`: of a large one. `least_age`: for how long there must have been statistics.
Result<std::vector<OddIndex>> odd_indexes(Connection& connection, std::int64_t least_bytes, Millis least_age);

struct LogMonth {
  std::string log;    // attempts, audit_log
  std::string month;  // "2026-01"
  int months_ahead = 0;
  bool is_there = false;
  bool default_has_rows = false;  // the log has rows that no month was made for
};
Result<std::vector<LogMonth>> months_of_logs(Connection& connection);

}  // namespace waybill
