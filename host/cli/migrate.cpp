// `waybill migrate`: brings the schema up to date, or tells what that would do.
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "store/operations/database_check.h"
#include "store/pg/migration_plan.h"

namespace waybill {
namespace {

constexpr int kInTheWay = 3;  // the exit code

std::string words_of(Seconds length) {
  constexpr std::int64_t kMinute = 60;
  if (length.count() < 1) return "a moment";
  if (length.count() < 2 * kMinute) return "about " + std::to_string(length.count()) + " s";
  return "about " + std::to_string(length.count() / kMinute) + " min";
}

// On one line.
std::string statement_of(const MigrationStep& step) {
  std::string line;
  for (const char c : step.sql) {
    const char next = c == '\n' || c == '\t' ? ' ' : c;
    if (next != ' ' || (!line.empty() && line.back() != ' ')) line += next;
  }
  return line;
}

std::string lock_words(const MigrationStep& step) {
  if (step.lock.empty()) return "";
  const bool is_strong = step.lock != "ROW EXCLUSIVE" && step.kind != MigrationStep::Kind::index;
  return step.lock + " on " + step.table + (is_strong ? ", for a moment; " : ", nobody waits; ");
}

Json json_of(const PlannedMigration& migration) {
  Json steps = Json::array();
  for (const auto& planned : migration.steps) {
    Json step{{"statement", statement_of(planned.step)}, {"done", planned.is_done}, {"seconds", planned.length.count()}};
    if (!planned.step.lock.empty()) step.update({{"lock", planned.step.lock}, {"on", planned.step.table}});
    if (planned.bytes > 0) step.update({{"rows", planned.rows}, {"bytes", planned.bytes}});
    steps.push_back(std::move(step));
  }
  return {{"name", migration.name},
          {"runsBeside", migration.runs_beside},
          {"needsPause", migration.needs_pause},
          {"locks", migration.locks},
          {"steps", std::move(steps)}};
}

void print_plan_json(const MigrationPlan& plan) {
  Json migrations = Json::array();
  for (const auto& migration : plan.migrations) migrations.push_back(json_of(migration));
  print_json({{"plan",
               {{"database", plan.state.database},
                {"program", plan.state.program},
                {"functions", plan.renews_functions},
                {"inTheWay", plan.in_the_way},
                {"migrations", std::move(migrations)}}}});
}

void print(const PlannedMigration& migration) {
  print_line(migration.name + (migration.needs_pause
                                   ? ": no host may run that knows less than version " + std::to_string(migration.runs_beside)
                                   : ": hosts go on"));
  if (!migration.locks.empty()) print_line("  locks: " + migration.locks);
  for (const auto& planned : migration.steps)
    print_line("  " + statement_of(planned.step) + "\n      " +
               (planned.is_done ? "done already" : lock_words(planned.step) + words_of(planned.length)));
}

void print_plan(const MigrationPlan& plan) {
  if (plan.migrations.empty())
    return print_line(plan.renews_functions ? "no migration; the schema's functions would be applied anew"
                                            : "nothing to do: the schema is up to date");
  print_line("from version " + std::to_string(plan.state.database) + " to " + std::to_string(plan.state.program) + ":");
  for (const auto& migration : plan.migrations) print(migration);
  for (const auto& host : plan.in_the_way) print_line("in the way: " + host + ": stop it (SIGTERM; it finishes what is out)");
}

int show_plan(const GlobalOptions& options, const Database& database) {
  const auto plan = plan_migrations(database.owner);
  if (!plan) return failed(plan.error().what);
  options.json ? print_plan_json(*plan) : print_plan(*plan);
  return plan->in_the_way.empty() ? 0 : kInTheWay;
}

}  // namespace

int migrate_database(const GlobalOptions& options, bool only_plan) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = open_database(*config, log, only_plan ? NoDatabasePolicy::refuse : NoDatabasePolicy::make);
  if (!database) return failed(database.error().what);
  if (const auto same = check_owner(database->address, database->owner); !same) return failed(same.error().what);
  if (only_plan) return show_plan(options, *database);
  ProgressLine progress("migration");
  const auto applied = migrate(
      database->owner,
      [&](const std::string& who) {
        progress.clear();
        report_wait(who);
      },
      migrations(), embedded_functions(),
      [&](const MigrationPlace& place) {
        progress.show("migration " + std::to_string(place.nth) + " of " + std::to_string(place.total) + ": " + place.name +
                      ", step " + std::to_string(place.step + 1) + " of " + std::to_string(place.steps));
      });
  progress.clear();
  if (!applied) return failed(applied.error().what);
  if (options.json) {
    print_json({{"applied", *applied}});
    return 0;
  }
  for (const auto& name : *applied) print_line("applied " + name);
  if (applied->empty()) print_line("nothing to do: the schema is up to date");
  return 0;
}

}  // namespace waybill
