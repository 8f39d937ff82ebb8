// The database roles of an installation: the application role and the reader; schema/0006_roles.sql has their rights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/lock_wait.h"
#include "store/pg.h"

namespace waybill {

struct Roles {
  std::string application;
  std::string reader;
};

struct RolesDone {
  Roles roles;
  std::string owner;                 // of the tables
  std::vector<std::string> created;  // roles that did not exist
};

// Creates missing roles, without login, and gives both exactly their rights; idempotent. A missing name is the one set up before,
// else waybill_app or waybill_reader. `owner` is the address of the tables' owner or of a member of it. Error::invalid says what
// to do if the schema is not up to date, or a role cannot be created or is unsuitable. Retries locks until they are free; `tell`
// is called with the sessions that it waits for.
Result<RolesDone> set_up_roles(const DatabaseAddress& owner, const std::optional<std::string>& application,
                               const std::optional<std::string>& reader, const TellWait& tell = {});

}  // namespace waybill
