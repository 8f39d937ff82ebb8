// What `waybill migrate` would do: its steps, their locks, how long they take, and which hosts stand in the way.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/pg/migration_steps.h"
#include "store/pg/migrations.h"

namespace waybill {

struct PlannedStep {
  MigrationStep step;
  bool is_done = false;    // in a run that was cut off
  std::int64_t rows = 0;   // of the table that it reads or writes as a whole, as the planner knows them; 0: it does neither
  std::int64_t bytes = 0;  // of that table
  Seconds length{0};       // an estimate, of a machine with little else to do; 0: less than a second
};
struct PlannedMigration {
  std::string name;
  int runs_beside = 0;
  bool needs_pause = false;  // no host that runs now may go on
  std::string locks;         // what its author says of them
  std::vector<PlannedStep> steps;
};
struct MigrationPlan {
  SchemaState state;
  std::vector<PlannedMigration> migrations;
  bool renews_functions = false;
  std::vector<std::string> in_the_way;  // living hosts that none of it may run beside: "box:41 (version 27)"
};

// Reads only. Error::invalid for a database that is too new or too old.
Result<MigrationPlan> plan_migrations(const DatabaseAddress& address, const std::vector<Migration>& all = migrations(),
                                      const SqlFunctions& functions = embedded_functions());

}  // namespace waybill
