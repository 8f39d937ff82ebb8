// Takes strong locks on a database in use, without letting other work queue up behind them for long.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "store/pg/pg.h"

namespace waybill {

// Called every few seconds with the sessions that a lock waits for.
using ReportWait = std::function<void(const std::string&)>;

// Runs `work` in one transaction on `connection`. If a lock is not free within 50 ms, rolls back, lets the sessions behind it
// pass, and runs `work` again a second later, until it succeeds. Any other error ends it.
Result<void> with_short_locks(Connection& connection, const DatabaseAddress& address, const std::function<Result<void>()>& work,
                              const ReportWait& report);

// Runs one statement that takes no lock on which others' work waits, such as CREATE INDEX CONCURRENTLY, in no transaction. It
// waits for as long as it takes; `report` is called by another thread.
Result<void> without_transaction(Connection& connection, const DatabaseAddress& address, const std::string& sql,
                                 const ReportWait& report);

}  // namespace waybill
