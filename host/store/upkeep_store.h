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
  // Whatever is claimed past its lease and not known as such is known again. A look through the whole queue: to be done seldom.
  virtual Result<std::uint64_t> find_lost_claims() = 0;
  virtual Result<QueueState> queue_state() = 0;
  // Of this month and the two after it. Waits for nobody: who is in the way is named in an Error::unavailable, and what is
  // missing comes with a later call.
  virtual Result<void> make_partitions() = 0;
  // Forgets the outages whose last cooldown has been over for so long. Answers how many.
  virtual Result<std::uint64_t> forget_outages(Millis over_for) = 0;
  // Ends the outage of what rests under this key: what waits for its cooldown's end is due now. False: there is none.
  virtual Result<bool> end_outage(OrgId org, const std::string& rest_key) = 0;
};

}  // namespace waybill
