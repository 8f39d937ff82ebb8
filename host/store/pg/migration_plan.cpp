// Looking at what is pending, and at the tables that it touches.
#include "store/pg/migration_plan.h"

#include <algorithm>

#include "store/pg/migrations.sql.h"

namespace waybill {
namespace {

// Measured on two cores and an SSD (docs/decisions/0062-online-migrations.md); the order of magnitude is what counts.
constexpr std::int64_t kScannedBytes = 200'000'000;  // a second
constexpr std::int64_t kScans = 2;                   // of a table whose index is made concurrently
constexpr std::int64_t kSortedRows = 500'000;        // a second, into an index
constexpr std::int64_t kWrittenRows = 50'000;        // a second, by UPDATE or DELETE

Seconds estimate_of(const MigrationStep& step, std::int64_t rows, std::int64_t bytes) {
  if (step.kind != MigrationStep::Kind::index) return Seconds(rows / kWrittenRows);
  const bool is_of_few = step.sql.find(" WHERE ") != std::string::npos;
  return Seconds(kScans * bytes / kScannedBytes + (is_of_few ? 0 : rows / kSortedRows));
}

bool walks_its_table(const MigrationStep& step) {
  return step.kind != MigrationStep::Kind::transaction || step.sql.starts_with("UPDATE ") || step.sql.starts_with("DELETE ");
}

// Over one session that only reads.
class Planner {
 public:
  explicit Planner(Connection& connection) : connection_(connection) {}

  Result<PlannedMigration> plan(const Migration& migration, int needed, bool is_first) {
    PlannedMigration planned{.name = std::string(migration.name),
                             .runs_beside = migration.runs_beside,
                             .needs_pause = !is_first && migration.runs_beside > needed,
                             .locks = locks_said(migration.sql),
                             .steps = {}};
    if (is_first) return planned;  // on a database of nothing
    const auto done = steps_done(migration.version);
    TRY(done);
    for (auto& step : steps_of(migration.sql)) {
      auto one = plan(std::move(step), planned.steps.size() < *done);
      TRY(one);
      planned.steps.push_back(std::move(*one));
    }
    return planned;
  }

  Result<std::vector<std::string>> in_the_way(int needed) {
    const auto rows = connection_.run(sql::older_living_hosts, {std::to_string(needed)});
    TRY(rows);
    std::vector<std::string> names;
    for (const auto& row : *rows)
      names.push_back(std::string(row.name()) + " (version " + (row.knows() ? std::to_string(*row.knows()) : "9 or older") + ")");
    return names;
  }

  Result<bool> has_other_functions(const std::string& hash) {
    const auto known = connection_.run(sql::functions_hash);
    TRY(known);
    return known->empty() || known->front().hash() != hash;
  }

 private:
  Result<std::size_t> steps_done(int version) {
    const auto has = connection_.run(sql::has_progress);
    TRY(has);
    if (!has->front().is_there()) return std::size_t{0};
    const auto rows = connection_.run(sql::migration_progress, {std::to_string(version)});
    TRY(rows);
    return rows->empty() ? std::size_t{0} : static_cast<std::size_t>(rows->front().steps_done());
  }

  Result<PlannedStep> plan(MigrationStep step, bool is_done) {
    PlannedStep planned{.step = std::move(step), .is_done = is_done};
    if (planned.step.table.empty() || !walks_its_table(planned.step)) return planned;
    const auto size = connection_.run(sql::size_of, {planned.step.table});
    TRY(size);
    planned.rows = size->front().row_count().value_or(0);
    planned.bytes = size->front().bytes().value_or(0);
    planned.length = estimate_of(planned.step, planned.rows, planned.bytes);
    return planned;
  }

  Connection& connection_;
};

}  // namespace

Result<MigrationPlan> plan_migrations(const DatabaseAddress& address, const std::vector<Migration>& all,
                                      const SqlFunctions& functions) {
  auto connection = Connection::open(address, "schema");
  TRY(connection);
  const auto state = schema_state(*connection);
  TRY(state);
  const auto pending = pending_of(*state, all);
  TRY(pending);
  Planner planner(*connection);
  MigrationPlan plan{.state = *state, .migrations = {}, .renews_functions = true, .in_the_way = {}};
  int needed = state->needs;
  for (const auto& migration : *pending) {
    auto planned = planner.plan(migration, needed, migration.version == all.front().version);
    TRY(planned);
    plan.migrations.push_back(std::move(*planned));
    needed = std::max(needed, migration.runs_beside);
  }
  if (state->database == 0) return plan;  // nothing is there that could be asked
  auto in_the_way = planner.in_the_way(needed);
  TRY(in_the_way);
  plan.in_the_way = std::move(*in_the_way);
  const auto others = planner.has_other_functions(functions.hash);
  TRY(others);
  plan.renews_functions = *others && state->database <= all.back().version;
  return plan;
}

}  // namespace waybill
