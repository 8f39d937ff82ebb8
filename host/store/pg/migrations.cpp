// Applying migrations under a lock.
#include "store/pg/migrations.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "store/pg/migration_steps.h"
#include "store/pg/migrations.sql.h"
#include "store/pg/tenant_role.h"

namespace waybill {
namespace {

constexpr auto kTryLock = std::chrono::milliseconds(100);
constexpr std::string_view kAccessRules = "access_rules";
constexpr std::string_view kFunctions = "{{functions}}";  // in the first migration, where triggers need them

Result<void> done(const Result<Rows>& rows) {
  TRY(rows);
  return {};
}

// One at a time; held until the session ends.
Result<void> lock(Connection& connection, const std::string& schema) {
  TRY(connection.script("SET lock_timeout = 0; SET statement_timeout = 0"));
  for (;;) {
    const auto taken = connection.run(sql::lock_migrations, {schema});
    TRY(taken);
    if (taken->front().is_taken()) return {};
    std::this_thread::sleep_for(kTryLock);
  }
}

Result<void> make_schema(Connection& connection, const std::string& schema) {
  auto there = connection.run(sql::has_schema, {schema});
  TRY(there);
  if (!there->empty()) return {};
  TRY(connection.script("CREATE SCHEMA IF NOT EXISTS " + quoted_identifier(schema)));
  return {};
}

std::string no_right(const SchemaOwner& owner, const std::string& schema, int version) {
  const std::string role = "role \"" + owner.session + "\" may not ";
  const std::string state = version == 0
                                ? "schema \"" + schema + "\" is not there, or hidden from this role, and " + role + "make it"
                                : "the database schema is at version " + std::to_string(version) + ", this program needs " +
                                      std::to_string(program_version()) + ", and " + role + "change it";
  return state + ": run `waybill migrate` with database.owner_url set (docs/operations/roles.md)";
}

// What is known of each migration that was applied, and of the one under way.
Result<void> keep_books(Connection& connection) {
  return done(
      connection.script("CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL,"
                        " applied_at timestamptz NOT NULL DEFAULT now(), runs_beside integer);"
                        " CREATE TABLE IF NOT EXISTS migration_progress (version integer PRIMARY KEY,"
                        " steps_done integer NOT NULL, cursor text NOT NULL)"));
}

// No host that knows less than `needed` lives, and none registers until this transaction ends.
Result<void> clear_the_way(Connection& connection, int needed) {
  const auto has = connection.run(sql::has_hosts);
  TRY(has);
  if (!has->front().is_there()) return {};
  TRY(connection.script("LOCK TABLE hosts IN SHARE ROW EXCLUSIVE MODE"));
  const std::string version = std::to_string(needed);
  TRY(connection.run(sql::forget_older_hosts, {version}));
  const auto older = connection.run(sql::older_hosts, {version});
  TRY(older);
  const auto names = older->front().names();
  if (!names) return {};
  return fail(Error::Kind::invalid, "hosts of an older version live, and none may that knows less than version " + version +
                                        ": " + std::string(*names) +
                                        ". Stop them (SIGTERM; they finish what is out), then run `waybill migrate` again "
                                        "(docs/operations/upgrading.md)");
}

// Applies migrations over one session, which holds the lock and acts as the owner.
class Migrator {
 public:
  Migrator(Connection& connection, const DatabaseAddress& address, const ReportWait& report, const StepBegins& begins)
      : connection_(connection), address_(address), report_(report), begins_(begins) {}

  // `needed`: who knows less than that cannot register, since the database refuses it. Returns the names.
  Result<std::vector<std::string>> apply_all(const std::vector<Migration>& pending, int needed, int first) {
    std::vector<std::string> applied;
    if (pending.empty()) return applied;
    TRY(keep_books(connection_));
    TRY(prepare(pending));
    for (const Migration& m : pending) {
      const MigrationPlace place{.name = std::string(m.name), .nth = applied.size() + 1, .total = pending.size()};
      const auto there = apply(m, place, needed, m.version == first);
      if (!there) return fail(there.error().kind, "migration " + place.name + ": " + there.error().what);
      needed = std::max(needed, m.runs_beside);
      applied.push_back(place.name);
    }
    return applied;
  }

  Result<void> short_locks(const std::function<Result<void>()>& work) {
    return with_short_locks(connection_, address_, work, report_);
  }

 private:
  // Before anything is changed: all that is pending must be possible.
  Result<void> prepare(const std::vector<Migration>& pending) {
    int needed = 0;
    for (const auto& m : pending) needed = std::max(needed, m.runs_beside);
    return short_locks([&] { return clear_the_way(connection_, needed); });
  }

  Result<void> apply(const Migration& migration, MigrationPlace place, int needed, bool is_first) {
    if (is_first || migration.runs_beside > needed) {
      if (begins_) begins_(place);
      return as_a_whole(migration, is_first);
    }
    return step_by_step(migration, place);
  }

  // Nobody works beside it: either all of it is there afterwards, or nothing.
  Result<void> as_a_whole(const Migration& migration, bool is_first) {
    std::string text(migration.sql);
    if (is_first) {
      // A function may name one that comes later, and finds tables where it is, whatever the schema is called.
      if (const auto at = text.find(kFunctions); at != std::string::npos)
        text.replace(at, kFunctions.size(), embedded_functions().sql);
      text = "SET LOCAL check_function_bodies = off; SET LOCAL search_path TO " + quoted_identifier(address_.schema) +
             ", pg_temp;\n" + text;
    }
    return short_locks([&]() -> Result<void> {
      TRY(clear_the_way(connection_, migration.runs_beside));
      TRY(connection_.script(text));
      return note_done(migration);
    });
  }

  // Others work beside it. Killed at any moment, it goes on behind the last statement that was committed.
  Result<void> step_by_step(const Migration& migration, MigrationPlace place) {
    const auto steps = steps_of(migration.sql);
    const auto progress = connection_.run(sql::migration_progress, {std::to_string(migration.version)});
    TRY(progress);
    place.steps = steps.size();
    place.step = progress->empty() ? 0 : static_cast<std::size_t>(progress->front().steps_done());
    std::string cursor(progress->empty() ? "" : progress->front().cursor());
    for (; place.step < steps.size(); ++place.step, cursor.clear()) {
      if (begins_) begins_(place);
      TRY(run(steps[place.step], migration, place.step, cursor));
    }
    return short_locks([&] { return note_done(migration); });
  }

  Result<void> run(const MigrationStep& step, const Migration& migration, std::size_t nth, std::string cursor) {
    if (step.kind == MigrationStep::Kind::index) {
      TRY(make_index(step));
      return note(migration, nth + 1, "");
    }
    if (step.kind == MigrationStep::Kind::batches) return run_batches(step, migration, nth, std::move(cursor));
    return short_locks([&]() -> Result<void> {
      TRY(connection_.script(step.sql));
      if (step.sql.find(kAccessRules) != std::string::npos)
        TRY(give_access());  // later steps may let hosts' views read the table
      return note(migration, nth + 1, "");
    });
  }

  // One that was cut off is of no use, and in the way.
  Result<void> make_index(const MigrationStep& step) {
    const auto left = connection_.run(sql::is_index_left_over, {step.index});
    TRY(left);
    if (left->front().is_left_over())
      TRY(without_transaction(connection_, address_, "DROP INDEX CONCURRENTLY " + quoted_identifier(step.index), report_));
    return without_transaction(connection_, address_, step.sql, report_);
  }

  Result<void> run_batches(const MigrationStep& step, const Migration& migration, std::size_t nth, std::string cursor) {
    for (bool is_done = false; !is_done;) {
      auto text = step.sql;
      for (std::size_t at; (at = text.find(kBatchCursor)) != std::string::npos;)
        text.replace(at, kBatchCursor.size(), quoted_literal(cursor));
      const auto batch = short_locks([&]() -> Result<void> {
        const auto answer = connection_.script(text);
        TRY(answer);
        is_done = answer->is_null(0, 0);
        if (is_done) return note(migration, nth + 1, "");
        cursor = answer->text(0, 0);
        return note(migration, nth, cursor);
      });
      TRY(batch);
    }
    return {};
  }

  Result<void> note(const Migration& migration, std::size_t steps_done, const std::string& cursor) {
    TRY(connection_.run(sql::note_step, {std::to_string(migration.version), std::to_string(steps_done), cursor}));
    return {};
  }
  // Roles that were set up get their rights on new tables with it.
  Result<void> give_access() { return done(connection_.script("SELECT apply_access()")); }

  Result<void> note_done(const Migration& migration) {
    TRY(connection_.run(sql::note_migration,
                        {std::to_string(migration.version), std::string(migration.name), std::to_string(migration.runs_beside)}));
    return give_access();
  }

  Connection& connection_;
  const DatabaseAddress& address_;
  const ReportWait& report_;
  const StepBegins& begins_;
};

}  // namespace

Result<SchemaOwner> schema_owner(Connection& connection, const std::string& schema) {
  auto rows = connection.run(sql::schema_owner, {schema});
  TRY(rows);
  const auto row = rows->front();
  return SchemaOwner{std::string(row.session_role()), std::string(row.owner()), row.may_act()};
}

Result<SchemaOwner> become_owner(Connection& connection, const std::string& schema) {
  auto owner = schema_owner(connection, schema);
  if (!owner || !owner->may_act || owner->name == owner->session) return owner;
  TRY(connection.script("SET ROLE " + quoted_identifier(owner->name)));
  return owner;
}

Result<std::vector<Migration>> pending_of(const SchemaState& state, const std::vector<Migration>& all) {
  const int first = all.front().version;
  if (state.database > 0 && state.database < first) return tl::unexpected(too_old_to_migrate(state.database, first));
  std::vector<Migration> pending = all;
  std::erase_if(pending, [&](const Migration& m) { return m.version <= state.database; });
  return pending;
}

Result<std::vector<std::string>> migrate(const DatabaseAddress& address, const ReportWait& report,
                                         const std::vector<Migration>& all, const SqlFunctions& functions,
                                         const StepBegins& begins) {
  auto connection = Connection::open(address, "migrate");
  TRY(connection);
  const auto before = schema_owner(*connection, address.schema);
  TRY(before);
  if (before->may_act) {
    // A second process waits for the lock and then finds nothing to do.
    TRY(lock(*connection, address.schema));
    TRY(make_schema(*connection, address.schema));
    TRY(become_owner(*connection, address.schema));
  }
  const auto state = schema_state(*connection);
  TRY(state);
  const auto pending = pending_of(*state, all);
  TRY(pending);
  if (!before->may_act) {
    if (pending->empty()) return std::vector<std::string>{};
    return fail(Error::Kind::invalid, no_right(*before, address.schema, state->database));
  }
  Migrator migrator(*connection, address, report, begins);
  auto applied = migrator.apply_all(*pending, state->needs, all.front().version);
  TRY(applied);
  // A database that is newer than this program has newer functions.
  if (state->database <= all.back().version) TRY(bring_up_to_date(*connection, address, functions, report));
  // What the session may not do for the tenant role stays undone: without organisations nobody needs it
  // (store/organisations/org_store.h).
  const auto unfinished = unfinished_tenant_role(*connection);
  TRY(unfinished);
  if (unfinished->empty()) return applied;
  const auto separate = migrator.short_locks([&]() -> Result<void> {
    TRY(set_up_tenant_role(*connection, before->name, *unfinished));
    return {};
  });
  TRY(separate);
  return applied;
}

}  // namespace waybill
