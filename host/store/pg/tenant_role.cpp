// Setting up the tenant role.
#include "store/pg/tenant_role.h"

#include "store/pg/roles.sql.h"

namespace waybill {
namespace {

std::string creation(const std::string& name) { return "CREATE ROLE " + quoted_identifier(name) + " NOLOGIN; "; }

// Roles are the cluster's: another installation may make the same one at this moment.
std::string creation_unless_there(const std::string& name) {
  return "DO $do$ BEGIN EXECUTE " + quoted_literal(creation(name)) +
         "; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $do$; ";
}

}  // namespace

Result<std::string> unfinished_tenant_role(Connection& connection) {
  const auto current = connection.run(sql::tenant_role);
  TRY(current);
  std::string name(current->front().tenant_role());
  const auto setup = connection.run(sql::tenant_setup, {name, std::string()});
  TRY(setup);
  const auto row = setup->front();
  return row.is_there() && row.has_rights().value_or(false) && row.memberships().empty() ? "" : name;
}

Result<TenantRole> set_up_tenant_role(Connection& connection, const std::string& owner, const std::string& name,
                                      const std::string& former_application) {
  const auto checked = connection.run(sql::tenant_problem, {name});
  TRY(checked);
  const auto problem = checked->front().problem();
  if (!problem.empty()) return fail(Error::Kind::invalid, std::string(problem));
  const auto setup = connection.run(sql::tenant_setup, {name, former_application});
  TRY(setup);
  const auto row = setup->front();
  const bool exists = row.is_there(), has_rights = row.has_rights().value_or(false), may_create = row.may_create(),
             may_grant = row.may_grant();
  const std::string memberships(row.memberships());
  TenantRole role{.name = name, .created = !exists && may_create, .left = {}};
  if (exists && has_rights && memberships.empty()) return role;
  const bool acts = may_grant && (exists || may_create);
  if (!exists && !may_create) role.left = creation(role.name);
  if (!acts) role.left += memberships;
  // Roles are made and granted as who connected; the tables are their owner's.
  std::string sql;
  if (role.created || (acts && !memberships.empty()))
    sql = "RESET ROLE; " + (role.created ? creation_unless_there(role.name) : "") + (acts ? memberships : "") + "SET ROLE " +
          quoted_identifier(owner) + "; ";
  TRY(connection.script(sql + "SELECT grant_tenant(" + quoted_literal(role.name) + ")"));
  return role;
}

}  // namespace waybill
