// Applying migrations under a lock.
#include "store/migrations.h"

#include <charconv>

#include "core/embedded_file.h"

namespace waybill {
std::span<const EmbeddedFile> schema_files();

namespace {

// False also for a role that may not read it.
constexpr Statement kHasTable{"has_migrations_table",
                              "SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false)"};
constexpr Statement kVersion{"schema_version", "SELECT coalesce(max(version), 0) FROM schema_migrations"};

constexpr Statement kHasSchema{"has_schema", "SELECT 1 FROM pg_namespace WHERE nspname = $1"};
// Whose the tables are, or will be, and whether this session may act for that role. Members of the owner make tables in its name.
constexpr Statement kOwner{"schema_owner", R"(
  WITH schema AS (SELECT oid, nspowner FROM pg_namespace WHERE nspname = $1),
  holder AS (
    SELECT coalesce((SELECT relowner FROM pg_class WHERE relname = 'schema_migrations' AND relnamespace = (SELECT oid FROM schema)),
                    (SELECT nspowner FROM schema WHERE pg_has_role(nspowner, 'MEMBER') AND pg_get_userbyid(nspowner) !~ '^pg_')) AS role)
  SELECT current_user, coalesce(pg_get_userbyid(role), current_user),
         CASE WHEN role IS NOT NULL THEN pg_has_role(role, 'MEMBER')
              WHEN EXISTS (SELECT FROM schema) THEN has_schema_privilege((SELECT oid FROM schema), 'CREATE')
              ELSE has_database_privilege(current_database(), 'CREATE') END
  FROM holder)"};

constexpr int kBringsAccess = 6;  // the migration that brings apply_access()

Result<int> version_of(Connection& connection) {
  auto there = connection.run(kHasTable);
  if (!there) return tl::unexpected(there.error());
  if (!there->flag(0, 0)) return 0;
  auto rows = connection.run(kVersion);
  if (!rows) return tl::unexpected(rows.error());
  return static_cast<int>(rows->number(0, 0));
}

int newest() { return migrations().back().version; }

Result<void> refuse_newer(int version, const std::string& schema) {
  if (version <= newest()) return {};
  return fail(Error::Kind::invalid, "schema \"" + schema + "\" is at version " + std::to_string(version) +
                                        ", this program knows " + std::to_string(newest()) + ": run a newer waybill");
}

// One at a time; held until the session ends.
Result<void> lock(Connection& connection, const std::string& schema) {
  auto locked = connection.script("SELECT pg_advisory_lock(hashtext(" + quoted_literal("waybill-migrate:" + schema) + "))");
  if (!locked) return tl::unexpected(locked.error());
  return {};
}

Result<void> make_schema(Connection& connection, const std::string& schema) {
  auto there = connection.run(kHasSchema, {schema});
  if (!there) return tl::unexpected(there.error());
  if (there->size() == 1) return {};
  if (auto made = connection.script("CREATE SCHEMA IF NOT EXISTS " + quoted_identifier(schema)); !made)
    return tl::unexpected(made.error());
  return {};
}

std::string no_right(const SchemaOwner& owner, const std::string& schema, int version) {
  const std::string role = "role \"" + owner.session + "\" may not ";
  const std::string state = version == 0
                                ? "schema \"" + schema + "\" is not there, or hidden from this role, and " + role + "make it"
                                : "the database schema is at version " + std::to_string(version) + ", this program needs " +
                                      std::to_string(newest()) + ", and " + role + "change it";
  return state + ": run `waybill migrate` with database.owner_url set (docs/operations/roles.md)";
}

}  // namespace

std::vector<Migration> migrations() {
  std::vector<Migration> list;
  for (const auto& file : schema_files()) {  // named NUMBER_words.sql, and so sorted
    const auto name = file.path.substr(0, file.path.rfind('.'));
    int version = 0;
    std::from_chars(name.data(), name.data() + name.size(), version);
    list.push_back({version, name, file.text});
  }
  return list;
}

Result<SchemaState> schema_state(const DatabaseAddress& address) {
  auto connection = Connection::open(address, "schema");
  if (!connection) return tl::unexpected(connection.error());
  return schema_state(*connection, address.schema);
}

Result<SchemaState> schema_state(Connection& connection, const std::string& schema) {
  auto version = version_of(connection);
  if (!version) return tl::unexpected(version.error());
  if (auto good = refuse_newer(*version, schema); !good) return tl::unexpected(good.error());
  return SchemaState{*version, newest()};
}

Result<SchemaOwner> schema_owner(Connection& connection, const std::string& schema) {
  auto rows = connection.run(kOwner, {schema});
  if (!rows) return tl::unexpected(rows.error());
  return SchemaOwner{std::string(rows->text(0, 0)), std::string(rows->text(0, 1)), rows->flag(0, 2)};
}

Result<SchemaOwner> become_owner(Connection& connection, const std::string& schema) {
  auto owner = schema_owner(connection, schema);
  if (!owner || !owner->may_act || owner->name == owner->session) return owner;
  if (auto set = connection.script("SET ROLE " + quoted_identifier(owner->name)); !set) return tl::unexpected(set.error());
  return owner;
}

Result<std::vector<std::string>> migrate(const DatabaseAddress& address) {
  auto connection = Connection::open(address, "migrate");
  if (!connection) return tl::unexpected(connection.error());
  const auto before = schema_owner(*connection, address.schema);
  if (!before) return tl::unexpected(before.error());
  if (before->may_act) {
    // A second process waits for the lock and then finds nothing to do.
    if (auto locked = lock(*connection, address.schema); !locked) return tl::unexpected(locked.error());
    if (auto made = make_schema(*connection, address.schema); !made) return tl::unexpected(made.error());
    if (auto owner = become_owner(*connection, address.schema); !owner) return tl::unexpected(owner.error());
    if (auto made =
            connection->script("CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL,"
                               " applied_at timestamptz NOT NULL DEFAULT now())");
        !made)
      return tl::unexpected(made.error());
  }
  const auto state = schema_state(*connection, address.schema);
  if (!state) return tl::unexpected(state.error());
  std::vector<std::string> applied;
  for (const Migration& m : migrations()) {
    if (m.version <= state->database) continue;
    if (!before->may_act) return fail(Error::Kind::invalid, no_right(*before, address.schema, state->database));
    auto done = connection->script(std::string(m.sql) + "\n;INSERT INTO schema_migrations (version, name) VALUES (" +
                                   std::to_string(m.version) + ", " + quoted_literal(m.name) + ")" +
                                   (m.version >= kBringsAccess ? "; SELECT apply_access()" : ""));
    if (!done) return fail(done.error().kind, "migration " + std::string(m.name) + ": " + done.error().what);
    applied.emplace_back(m.name);
  }
  return applied;
}

}  // namespace waybill
