// The database roles of an installation: one for the host, one that only reads; schema/0006_roles.sql says what each may do.
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
  std::string owner;                 // whose the tables are
  std::vector<std::string> created;  // roles that were not there
};

// Makes the roles that are missing, as roles nobody can log in with, and gives both exactly their rights; once more changes
// nothing. A name left out is the one set up before, else waybill_app and waybill_reader. `owner` must be the address of the
// tables' owner, or of a member of it. Error::invalid, with what to do, when the schema is not up to date, a role cannot be made,
// or does not fit. Locks that others hold are tried again until they are free; `tell` hears whom it waits for.
Result<RolesDone> set_up_roles(const DatabaseAddress& owner, const std::optional<std::string>& application,
                               const std::optional<std::string>& reader, const TellWait& tell = {});

}  // namespace waybill
