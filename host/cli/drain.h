// `waybill drain`: takes over jobs of pg-boss that were never started.
#pragma once

#include <string>
#include <vector>

#include "app/installation.h"

namespace waybill {

inline constexpr int kSomeWereLeft = 3;  // exit code: all that could be drained was, and something is left

struct DrainOptions {
  std::string schema;
  std::string from;               // the database of pg-boss, "" for Waybill's own
  std::vector<std::string> maps;  // QUEUE=TARGET
  std::string org = "default";
  std::size_t batch = 200;
  bool dry_run = false;
};

int drain_pgboss(const GlobalOptions& options, const DrainOptions& drain);

}  // namespace waybill
