// The database roles of an installation: the application role, the reader and the tenant role. Their
// rights are the rows of access_rules, given by schema/functions/grant_access.sql and grant_tenant.sql.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/pg/lock_wait.h"
#include "store/pg/pg.h"

namespace waybill {

struct Roles {
  std::string application;
  std::string reader;
  std::string tenant;
};

struct RoleSetup {
  Roles roles;
  std::string owner;                 // of the tables
  std::vector<std::string> created;  // roles that did not exist
};

// Creates missing roles, without login, and gives each exactly its rights; idempotent. A missing name is the one set up before,
// else waybill_app, waybill_reader or waybill_tenant. The owner and the application may act as the tenant role. `owner` is the
// address of the tables' owner or of a member of it. Error::invalid says what to do if the schema is not up to date, or a role
// cannot be created or is unsuitable. Retries locks until they are free; `report` is called with the sessions that it waits for.
Result<RoleSetup> set_up_roles(const DatabaseAddress& address, const std::optional<std::string>& application,
                               const std::optional<std::string>& reader, const ReportWait& report = {},
                               const std::optional<std::string>& tenant = {});

}  // namespace waybill
