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
  std::string name(current->text(0, 0));
  const auto setup = connection.run(sql::tenant_setup, {name, std::string()});
  TRY(setup);
  return setup->flag(0, 0) && setup->flag(0, 1) && setup->text(0, 2).empty() ? "" : name;
}

Result<TenantRole> set_up_tenant_role(Connection& connection, const std::string& owner, const std::string& name,
                                      const std::string& former_application) {
  const auto problem = connection.run(sql::tenant_problem, {name});
  TRY(problem);
  if (!problem->text(0, 0).empty()) return fail(Error::Kind::invalid, std::string(problem->text(0, 0)));
  const auto setup = connection.run(sql::tenant_setup, {name, former_application});
  TRY(setup);
  const bool exists = setup->flag(0, 0), has_rights = setup->flag(0, 1), may_create = setup->flag(0, 3),
             may_grant = setup->flag(0, 4);
  const std::string memberships(setup->text(0, 2));
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
