// Setting up the roles, in one transaction.
#include "store/roles.h"

#include "store/migrations.h"
#include "store/sql/roles.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxNameLength = 63;  // PostgreSQL cuts longer ones

constexpr Statement kRemembered = sql::roles_remembered;
constexpr Statement kProblem = sql::roles_problem;
constexpr Statement kMissing = sql::roles_missing;
constexpr Statement kMayCreate = sql::may_create_roles;

Result<Roles> wanted_roles(Connection& connection, const std::optional<std::string>& application,
                           const std::optional<std::string>& reader) {
  auto rows = connection.run(kRemembered);
  if (!rows) return tl::unexpected(rows.error());
  Roles roles{application.value_or(std::string(rows->text(0, 0))), reader.value_or(std::string(rows->text(0, 1)))};
  for (const auto& name : {roles.application, roles.reader})
    if (name.empty() || name.size() > kMaxNameLength || name.starts_with("pg_"))
      return fail(Error::Kind::invalid, "\"" + name + "\" is no name for a role: 1 to 63 bytes, not pg_...");
  auto problem = connection.run(kProblem, {roles.application, roles.reader});
  if (!problem) return tl::unexpected(problem.error());
  if (!problem->text(0, 0).empty()) return fail(Error::Kind::invalid, std::string(problem->text(0, 0)));
  return roles;
}

Result<std::vector<std::string>> missing(Connection& connection, const Roles& roles) {
  auto rows = connection.run(kMissing, {ArrayText().add(roles.application).add(roles.reader).take()});
  if (!rows) return tl::unexpected(rows.error());
  std::vector<std::string> names;
  for (std::size_t row = 0; row < rows->size(); ++row) names.emplace_back(rows->text(row, 0));
  return names;
}

std::string creation(const std::vector<std::string>& names) {
  std::string sql;
  for (const auto& name : names) sql += "CREATE ROLE " + quoted_identifier(name) + " NOLOGIN; ";
  return sql;
}

}  // namespace

Result<RolesDone> set_up_roles(const DatabaseAddress& address, const std::optional<std::string>& application,
                               const std::optional<std::string>& reader, const TellWait& tell) {
  auto connection = Connection::open(address, "roles");
  if (!connection) return tl::unexpected(connection.error());
  const auto owner = become_owner(*connection, address.schema);
  if (!owner) return tl::unexpected(owner.error());
  if (!owner->may_act)
    return fail(Error::Kind::invalid, "role \"" + owner->session + "\" is not a member of the tables' owner, \"" + owner->name +
                                          "\": set database.owner_url to the address of one that is");
  const auto state = schema_state(*connection);
  if (!state) return tl::unexpected(state.error());
  if (state->database < state->program)
    return fail(Error::Kind::invalid, "the schema is not there or not up to date: run `waybill migrate` first");
  const auto roles = wanted_roles(*connection, application, reader);
  if (!roles) return tl::unexpected(roles.error());
  auto absent = missing(*connection, *roles);
  if (!absent) return tl::unexpected(absent.error());
  if (!absent->empty()) {
    const auto may_create = connection->run(kMayCreate);
    if (!may_create) return tl::unexpected(may_create.error());
    if (!may_create->flag(0, 0))
      return fail(
          Error::Kind::invalid,
          "role \"" + owner->session +
              "\" may not create roles: let an administrator of the database run this, then try again: " + creation(*absent));
  }
  // Roles are made as who connected; the tables are their owner's.
  const std::string sql = "RESET ROLE; " + creation(*absent) + "SET ROLE " + quoted_identifier(owner->name) +
                          "; SELECT grant_access(" + quoted_literal(roles->application) + ", " + quoted_literal(roles->reader) +
                          ")";
  const auto done = with_short_locks(
      *connection, address,
      [&]() -> Result<void> {
        if (auto ran = connection->script(sql); !ran) return tl::unexpected(ran.error());
        return {};
      },
      tell);
  if (!done) return tl::unexpected(done.error());
  return RolesDone{*roles, owner->name, std::move(*absent)};
}

}  // namespace waybill
