// Applying migrations under a lock.
#include "store/migrations.h"

#include <charconv>

#include "core/embedded_file.h"

namespace waybill {
std::span<const EmbeddedFile> schema_files();

namespace {

constexpr Statement kHasTable{"has_migrations_table", "SELECT to_regclass('schema_migrations') IS NOT NULL"};
constexpr Statement kVersion{"schema_version", "SELECT coalesce(max(version), 0) FROM schema_migrations"};

std::string literal(std::string_view text) {
  std::string quoted_text = "'";
  for (const char c : text) quoted_text.append(c == '\'' ? 2 : 1, c);
  return quoted_text + "'";
}

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
  auto version = version_of(*connection);
  if (!version) return tl::unexpected(version.error());
  if (auto good = refuse_newer(*version, address.schema); !good) return tl::unexpected(good.error());
  return SchemaState{*version, newest()};
}

Result<std::vector<std::string>> migrate(const DatabaseAddress& address) {
  auto connection = Connection::open(address, "migrate");
  if (!connection) return tl::unexpected(connection.error());
  // Held until this session ends; a second process waits here and then finds nothing to do.
  if (auto locked = connection->script("SELECT pg_advisory_lock(hashtext(" + literal("waybill-migrate:" + address.schema) + "))");
      !locked)
    return tl::unexpected(locked.error());
  if (auto made =
          connection->script("CREATE SCHEMA IF NOT EXISTS " + quoted_identifier(address.schema) +
                             "; CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL,"
                             " applied_at timestamptz NOT NULL DEFAULT now())");
      !made)
    return tl::unexpected(made.error());
  auto version = version_of(*connection);
  if (!version) return tl::unexpected(version.error());
  if (auto good = refuse_newer(*version, address.schema); !good) return tl::unexpected(good.error());
  std::vector<std::string> applied;
  for (const Migration& m : migrations()) {
    if (m.version <= *version) continue;
    auto done = connection->script(std::string(m.sql) + "\n;INSERT INTO schema_migrations (version, name) VALUES (" +
                                   std::to_string(m.version) + ", " + literal(m.name) + ")");
    if (!done) return fail(done.error().kind, "migration " + std::string(m.name) + ": " + done.error().what);
    applied.emplace_back(m.name);
  }
  return applied;
}

}  // namespace waybill
