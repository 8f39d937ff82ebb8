// Setting up the roles, in one transaction.
#include "store/pg/roles.h"

#include "store/pg/migrations.h"
#include "store/pg/roles.sql.h"
#include "store/pg/tenant_role.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxNameLength = 63;  // PostgreSQL cuts longer ones

Result<Roles> wanted_roles(Connection& connection, const std::optional<std::string>& application,
                           const std::optional<std::string>& reader, const std::optional<std::string>& tenant) {
  auto rows = connection.run(sql::roles_remembered);
  TRY(rows);
  const auto remembered = rows->front();
  Roles roles{application.value_or(std::string(remembered.application_role())),
              reader.value_or(std::string(remembered.reader_role())), tenant.value_or(std::string(remembered.tenant_role()))};
  for (const auto& name : {roles.application, roles.reader, roles.tenant})
    if (name.empty() || name.size() > kMaxNameLength || name.starts_with("pg_"))
      return fail(Error::Kind::invalid, "\"" + name + "\" is no name for a role: 1 to 63 bytes, not pg_...");
  auto checked = connection.run(sql::roles_problem, {roles.application, roles.reader});
  TRY(checked);
  const auto problem = checked->front().problem();
  if (!problem.empty()) return fail(Error::Kind::invalid, std::string(problem));
  if (roles.tenant == roles.application || roles.tenant == roles.reader)
    return fail(Error::Kind::invalid, "the tenant role must be another one than \"" + roles.tenant + "\"");
  return roles;
}

Result<std::vector<std::string>> missing(Connection& connection, const Roles& roles) {
  auto rows = connection.run(sql::roles_missing, {ArrayText().add(roles.application).add(roles.reader).add(roles.tenant).take()});
  TRY(rows);
  std::vector<std::string> names;
  for (const auto row : *rows) names.emplace_back(row.wanted());
  return names;
}

std::string creation(const std::vector<std::string>& names) {
  std::string sql;
  for (const auto& name : names) sql += "CREATE ROLE " + quoted_identifier(name) + " NOLOGIN; ";
  return sql;
}

}  // namespace

Result<RoleSetup> set_up_roles(const DatabaseAddress& address, const std::optional<std::string>& application,
                               const std::optional<std::string>& reader, const ReportWait& report,
                               const std::optional<std::string>& tenant) {
  auto connection = Connection::open(address, "roles");
  TRY(connection);
  const auto owner = become_owner(*connection, address.schema);
  TRY(owner);
  if (!owner->may_act)
    return fail(Error::Kind::invalid, "role \"" + owner->session + "\" is not a member of the tables' owner, \"" + owner->name +
                                          "\": set database.owner_url to the address of one that is");
  const auto state = schema_state(*connection);
  TRY(state);
  if (state->database < state->program)
    return fail(Error::Kind::invalid, "the schema is not there or not up to date: run `waybill migrate` first");
  const auto roles = wanted_roles(*connection, application, reader, tenant);
  TRY(roles);
  auto absent = missing(*connection, *roles);
  TRY(absent);
  if (!absent->empty()) {
    const auto may_create = connection->run(sql::may_create_roles);
    TRY(may_create);
    if (!may_create->front().may_create())
      return fail(Error::Kind::invalid,
                  "role \"" + owner->session +
                      "\" may not create roles: let an administrator of the database run this, then try again: " +
                      creation(*absent) + "GRANT " + quoted_identifier(roles->tenant) + " TO " +
                      quoted_identifier(roles->application) + ", " + quoted_identifier(owner->name) + ";");
  }
  const auto remembered = connection->run(sql::roles_remembered);
  TRY(remembered);
  const auto application_before = remembered->front().application_role();
  const std::string former(application_before == roles->application ? std::string_view{} : application_before);
  // Roles are made as who connected; the tables are their owner's.
  const std::string sql = "RESET ROLE; " + creation(*absent) + "SET ROLE " + quoted_identifier(owner->name) +
                          "; SELECT grant_access(" + quoted_literal(roles->application) + ", " + quoted_literal(roles->reader) +
                          ")";
  const auto done = with_short_locks(
      *connection, address,
      [&]() -> Result<void> {
        TRY(connection->script(sql));
        return {};
      },
      report);
  TRY(done);
  TenantRole tenants;
  const auto separated = with_short_locks(
      *connection, address,
      [&]() -> Result<void> {
        auto set_up = set_up_tenant_role(*connection, owner->name, roles->tenant, former);
        TRY(set_up);
        tenants = std::move(*set_up);
        return {};
      },
      report);
  TRY(separated);
  if (!tenants.left.empty())
    return fail(Error::Kind::invalid,
                "role \"" + owner->session +
                    "\" may not set up the tenant role: let an administrator of the database run this, then "
                    "try again: " +
                    tenants.left);
  if (tenants.created) absent->push_back(tenants.name);
  return RoleSetup{*roles, owner->name, std::move(*absent)};
}

}  // namespace waybill
