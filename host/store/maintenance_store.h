// What periodic tasks ask of the whole queue. These statements may take long; nobody's takeover waits for them. An object holds a
// session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/time.h"

namespace waybill {

// Up to this many deliveries are counted one by one; beyond it the number is an estimate.
inline constexpr std::uint64_t kMaxCounted = 100'000;

struct QueueState {
  std::map<std::string, std::uint64_t> by_status;
  std::optional<Micros> oldest_due;  // age of the oldest delivery that is due
};

class MaintenanceStore {
 public:
  virtual ~MaintenanceStore() = default;
  // Registers claims that are missing from `claims` as nobody's: their host was through with them, and the database has forgotten
  // that since (an asynchronous failover). Answers how many deliveries. A full scan of the queue.
  virtual Result<std::uint64_t> find_lost_claims() = 0;
  // Costs about the same however long the queue is. Exact for a queue of up to 64 MiB; beyond it `claimed` is exact, `due` is
  // exact up to kMaxCounted, and the rest is estimated from a sample.
  virtual Result<QueueState> queue_state() = 0;
  // Of this month and the two after it. Waits for nobody: who is in the way is named in an Error::unavailable, and what is
  // missing comes with a later call.
  virtual Result<void> make_partitions() = 0;
  // Forgets the outages whose last cooldown has been over for so long. Answers how many.
  virtual Result<std::uint64_t> forget_outages(Millis over_for) = 0;
  // Ends the outage of what cooldowns under this key: what waits for its cooldown's end is due now. False: there is none.
  virtual Result<bool> end_outage(OrgId org, const std::string& cooldown_key) = 0;
};

}  // namespace waybill
