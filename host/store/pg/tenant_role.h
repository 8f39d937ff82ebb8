// The tenant role: as which the database sees what is done for one organisation; schema/functions/grant_tenant.sql
// gives it its rights.
#pragma once

#include <string>

#include "base/error.h"
#include "store/pg/pg.h"

namespace waybill {

struct TenantRole {
  std::string name;
  bool created = false;
  std::string left;  // what an administrator has to run, as SQL, because the session may not; "": nothing
};

// Creates the role if it is missing, gives it its rights, and lets the tables' owner and the application act as it: as far as the
// session may. `former_application` may not any more, unless it is empty. Idempotent. Runs in the caller's transaction; the
// session must act as the owner of the tables. Error::invalid says why a role is unsuitable.
Result<TenantRole> set_up_tenant_role(Connection& connection, const std::string& owner, const std::string& name,
                                      const std::string& former_application = {});

// The name of the role in use, if something of it is missing; else "".
Result<std::string> unfinished_tenant_role(Connection& connection);

}  // namespace waybill
