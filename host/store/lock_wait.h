// Strong locks on a database that is in use: never waited for so long that others' work queues up behind them.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "store/pg.h"

namespace waybill {

// Hears, every few seconds, whom a lock waits for.
using TellWait = std::function<void(const std::string&)>;

// Does `work` in one transaction on `connection`. A lock that is not free within half a second undoes it all and lets those pass
// that queue behind it; a second later `work` is done again, until it gets through. Any other error ends it.
Result<void> with_short_locks(Connection& connection, const DatabaseAddress& address, const std::function<Result<void>()>& work,
                              const TellWait& tell);

}  // namespace waybill
