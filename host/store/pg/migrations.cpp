// Applying migrations under a lock.
#include "store/pg/migrations.h"

#include <algorithm>

#include "store/pg/migrations.sql.h"
#include "store/pg/tenant_role.h"

namespace waybill {
namespace {

constexpr int kBringsAccess = 6;      // the migration that brings apply_access()
constexpr int kBringsVersions = 14;   // the migration that has hosts checked as they register
constexpr int kBringsTenants = 19;    // the migration that brings grant_tenant()
constexpr int kBringsFunctions = 50;  // the migration that brings schema_functions

Result<void> done(const Result<Rows>& rows) {
  TRY(rows);
  return {};
}

// One at a time; held until the session ends.
Result<void> lock(Connection& connection, const std::string& schema) {
  return done(connection.script("SET lock_timeout = 0; SET statement_timeout = 0; SELECT pg_advisory_lock(hashtext(" +
                                quoted_literal("waybill-migrate:" + schema) + "))"));
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

// What is known of each migration that was applied.
Result<void> keep_books(Connection& connection, const DatabaseAddress& address, const ReportWait& report) {
  TRY(
      connection.script("CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL,"
                        " applied_at timestamptz NOT NULL DEFAULT now(), runs_beside integer)"));
  const auto has = connection.run(sql::has_runs_beside);
  TRY(has);
  if (!has->empty()) return {};
  return with_short_locks(
      connection, address,
      [&] { return done(connection.script("ALTER TABLE schema_migrations ADD COLUMN runs_beside integer")); }, report);
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

Result<void> apply(Connection& connection, const Migration& m, int needed_before) {
  // Who knows less than that cannot register: the database refuses it.
  if (m.runs_beside > needed_before) TRY(clear_the_way(connection, m.runs_beside));
  return done(connection.script(std::string(m.sql) + "\n;INSERT INTO schema_migrations (version, name, runs_beside) VALUES (" +
                                std::to_string(m.version) + ", " + quoted_literal(m.name) + ", " + std::to_string(m.runs_beside) +
                                ")" + (m.version >= kBringsAccess ? "; SELECT apply_access()" : "")));
}

// Before anything is changed: all that is pending must be possible. From here on the database itself refuses hosts that are too
// old.
Result<void> prepare(Connection& connection, const std::vector<Migration>& pending, int database) {
  int needed = 0;
  for (const auto& m : pending) needed = std::max(needed, m.runs_beside);
  TRY(clear_the_way(connection, needed));
  const auto versions = std::find_if(pending.begin(), pending.end(), [](const auto& m) { return m.version == kBringsVersions; });
  if (database < kBringsAccess || versions == pending.end()) return {};
  return done(connection.script(std::string(versions->sql)));
}

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

Result<std::vector<std::string>> migrate(const DatabaseAddress& address, const ReportWait& report,
                                         const std::vector<Migration>& all, const SqlFunctions& functions,
                                         const MigrationBegins& begins) {
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
  std::vector<Migration> pending = all;
  std::erase_if(pending, [&](const Migration& m) { return m.version <= state->database; });
  std::vector<std::string> applied;
  // What the session may not do for the tenant role stays undone: without organisations nobody needs it
  // (store/organisations/org_store.h).
  const auto separate = [&](int version) -> Result<void> {
    if (!before->may_act || version < kBringsTenants) return {};
    const auto unfinished = unfinished_tenant_role(*connection);
    TRY(unfinished);
    if (unfinished->empty()) return {};
    return with_short_locks(
        *connection, address,
        [&]() -> Result<void> {
          TRY(set_up_tenant_role(*connection, before->name, *unfinished));
          return {};
        },
        report);
  };
  // A database that is newer than this program has newer functions.
  const auto renew_functions = [&](int version) -> Result<void> {
    if (!before->may_act || version < kBringsFunctions || version > all.back().version) return {};
    return bring_up_to_date(*connection, address, functions, report);
  };
  if (pending.empty()) {
    TRY(renew_functions(state->database));
    TRY(separate(state->database));
    return applied;
  }
  if (!before->may_act) return fail(Error::Kind::invalid, no_right(*before, address.schema, state->database));
  TRY(keep_books(*connection, address, report));
  const auto prepared = with_short_locks(
      *connection, address, [&] { return prepare(*connection, pending, state->database); }, report);
  TRY(prepared);
  int needed = state->needs;
  for (const Migration& m : pending) {
    if (begins) begins(std::string(m.name), applied.size() + 1, pending.size());
    const auto there = with_short_locks(
        *connection, address, [&] { return apply(*connection, m, needed); }, report);
    if (!there) return fail(there.error().kind, "migration " + std::string(m.name) + ": " + there.error().what);
    needed = std::max(needed, m.runs_beside);
    applied.emplace_back(m.name);
  }
  TRY(renew_functions(pending.back().version));
  TRY(separate(pending.back().version));
  return applied;
}

}  // namespace waybill
