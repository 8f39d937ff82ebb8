// What must be so before a host works with a database, and cannot be seen from a single statement's success.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "store/pg.h"

namespace waybill {

// A server that takes writes, through sessions that are ours alone: what a pooler shares between transactions has neither locks
// nor prepared statements. Error::invalid or Error::unavailable, with what to do. Else what an operator should know, in words.
Result<std::vector<std::string>> check_server(const DatabaseAddress& address);

// That the role may do all that hosts do. Error::invalid names the rights that it lacks.
Result<void> check_rights(const DatabaseAddress& address);

}  // namespace waybill
