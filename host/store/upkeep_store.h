// Presence of hosts, and what dead ones left behind. An object holds a session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/id.h"
#include "core/time.h"

namespace waybill {

struct LostClaim {
  DeliveryId delivery;
  ClaimToken token;
  OrgId org;
  RouteId route;
  HostId host;
  std::string kind;  // of the submission
  std::string client_ref;
  Timestamp claimed_at;
  Timestamp created;  // of the submission
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
  std::uint32_t uncounted;
};
struct LostClaims {
  Timestamp now;
  std::vector<LostClaim> claims;
};

struct QueueState {
  std::map<std::string, std::uint64_t> by_status;
  std::optional<Micros> oldest_due;  // age of the oldest delivery that is due
};

class UpkeepStore {
 public:
  virtual ~UpkeepStore() = default;
  // Hosts whose advisory lock is free, so they are gone. The lock is then held by this session until bury().
  virtual Result<std::vector<HostId>> dead_hosts(HostId self) = 0;
  virtual Result<void> bury(HostId host) = 0;
  // Claims of that host, or, without one, claims of anybody whose lease has run out.
  virtual Result<LostClaims> lost_claims(Shard shard, std::optional<HostId> host, std::size_t most) = 0;
  // Forgets claims whose host is gone or whose lease has run out, once none of their deliveries is claimed any more.
  virtual Result<void> forget_lost_claims(Shard shard) = 0;
  // Registers claims that are missing from `claims`, as expired: their host was through with them, and the database has forgotten
  // that since (an asynchronous failover). Answers how many deliveries. A full scan of the queue.
  virtual Result<std::uint64_t> find_lost_claims() = 0;
  virtual Result<QueueState> queue_state() = 0;
  virtual Result<void> make_partitions() = 0;
};

}  // namespace waybill
