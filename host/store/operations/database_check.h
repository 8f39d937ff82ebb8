// Checks at the start that a host can work with a database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/pg/pg.h"

namespace waybill {

// Requires a writable server and sessions of our own: sessions that a pooler shares between transactions keep neither locks nor
// prepared statements. Error::invalid or Error::unavailable say what to do. Else returns remarks for the operator.
Result<std::vector<std::string>> check_server(const DatabaseAddress& address);

// Checks the rights that hosts need. Error::invalid names those that are missing.
Result<void> check_rights(const DatabaseAddress& address);

// Several organisations need the tenant role. An error says what to do about it; a host works without, and relies on what each
// statement says.
Result<void> check_tenants(const DatabaseAddress& address);

// That both lead to the same database of the same server: what the owner migrates is what hosts use. An address that does not
// let anybody in, such as before its role is made, says nothing.
Result<void> check_owner(const DatabaseAddress& address, const DatabaseAddress& owner);

struct OldTransaction {
  std::string who;
  std::int64_t seconds;
};
// Those that have been open for longer than `age`: the oldest five, of those that this role sees.
Result<std::vector<OldTransaction>> old_transactions(Connection& connection, Millis age);

// What a server has room for, and who holds it up. For people; a host does not ask.
struct ServerFacts {
  std::string role;
  std::string version;
  int connections = 0;     // that this role may have at most, beside those of superusers
  int others = 0;          // of max_connections, held by others than Waybill
  std::string limited_by;  // max_connections, or the CONNECTION LIMIT of the role or of the database
  std::vector<OldTransaction> old_transactions;
};
Result<ServerFacts> server_facts(const DatabaseAddress& address, Millis old);

}  // namespace waybill
