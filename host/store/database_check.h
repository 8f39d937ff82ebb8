// Checks at the start that a host can work with a database.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "store/pg.h"

namespace waybill {

// Requires a writable server and sessions of our own: sessions that a pooler shares between transactions keep neither locks nor
// prepared statements. Error::invalid or Error::unavailable say what to do. Else returns remarks for the operator.
Result<std::vector<std::string>> check_server(const DatabaseAddress& address);

// Checks the rights that hosts need. Error::invalid names those that are missing.
Result<void> check_rights(const DatabaseAddress& address);

// Several organisations need the tenant role. An error says what to do about it; a host works without, and relies on what each
// statement says.
Result<void> check_tenants(const DatabaseAddress& address);

}  // namespace waybill
