// The embedded migrations, and the database's version beside them.
#include "store/pg/schema_version.h"

#include <charconv>

#include "base/embedded_file.h"
#include "store/pg/migrations.sql.h"

namespace waybill {
std::span<const EmbeddedFile> schema_files();

namespace {

constexpr int kMaxHeadLines = 5;
constexpr std::string_view kRunsBeside = "-- Runs beside: ";

int number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

}  // namespace

int runs_beside(std::string_view sql, int version) {
  for (int line = 0; line < kMaxHeadLines && !sql.empty(); ++line) {
    const auto text = sql.substr(0, sql.find('\n'));
    sql.remove_prefix(std::min(sql.size(), text.size() + 1));
    if (!text.starts_with(kRunsBeside)) continue;
    const int oldest = number_in(text.substr(kRunsBeside.size()));
    return oldest > 0 && oldest < version ? oldest : version;
  }
  return version;
}

std::vector<Migration> migrations() {
  std::vector<Migration> list;
  for (const auto& file : schema_files()) {  // named NUMBER_words.sql, and so sorted
    const auto name = file.path.substr(0, file.path.rfind('.'));
    const int version = number_in(name.substr(0, name.find('_')));
    list.push_back({version, name, file.text, runs_beside(file.text, version)});
  }
  return list;
}

int program_version() {
  static const int version = migrations().back().version;
  return version;
}

Result<SchemaState> look_at_schema(Connection& connection, int program) {
  auto rows = connection.run(sql::schema_version);
  TRY(rows);
  const auto row = rows->front();
  return SchemaState{static_cast<int>(row.version()), static_cast<int>(row.needs()), program};
}

Result<SchemaState> schema_state(const DatabaseAddress& address) {
  auto connection = Connection::open(address, "schema");
  TRY(connection);
  return schema_state(*connection);
}

Result<SchemaState> schema_state(Connection& connection) {
  auto there = connection.run(sql::has_migrations_table);
  TRY(there);
  if (!there->front().is_there()) return SchemaState{.program = program_version()};
  auto state = look_at_schema(connection);
  if (!state) return state;
  TRY(refuse_too_new(*state));
  return state;
}

Result<void> refuse_too_new(const SchemaState& state) {
  if (!state.is_too_new()) return {};
  if (state.database == 0)
    return fail(Error::Kind::invalid,
                "the database has no schema of Waybill yet, or none that this role may read: run `waybill migrate`");
  return fail(Error::Kind::invalid, "the database schema is at version " + std::to_string(state.database) +
                                        ", which takes programs of version " + std::to_string(state.needs) +
                                        " or newer; this program knows version " + std::to_string(state.program) +
                                        ": run a newer waybill (docs/operations/upgrading.md)");
}

Error too_old_to_migrate(int database, int first) {
  return {Error::Kind::invalid, "the database schema is at version " + std::to_string(database) +
                                    ", and this program leads on from version " + std::to_string(first) +
                                    ": run `waybill migrate` of the last version before 1.0 first "
                                    "(docs/operations/upgrading.md, \"From before 1.0\")"};
}

Result<void> refuse_unfit(const SchemaState& state) {
  if (!state.is_too_old()) return refuse_too_new(state);
  if (const int first = migrations().front().version; state.database > 0 && state.database < first)
    return tl::unexpected(too_old_to_migrate(state.database, first));
  return fail(Error::Kind::invalid, "the database schema is at version " + std::to_string(state.database) +
                                        ", this program needs " + std::to_string(state.program) + ": run `waybill migrate`");
}

}  // namespace waybill
