// What rescue asks of the database: which hosts live, what the dead left behind. An object holds a session of its own: one thread
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

// A host as one look found it.
struct HostObservation {
  HostId id;
  std::int64_t version;  // of its row: a host that comes back writes it anew
  bool lives;            // somebody else holds its advisory lock
};

// A claim as one look found it.
struct ClaimObservation {
  Shard shard;
  ClaimToken token;
  HostId host;
  Timestamp lease_until;  // each renewal changes it
  bool orphaned;          // its host is not registered any more: a claim can commit after its host was rescued
};

// A claim that a rescuer has seen unchanged for so long, by its own clock.
struct UnchangedClaim {
  ClaimObservation claim;
  Micros length;
};

struct OrphanedClaim {
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
struct OrphanedClaims {
  Timestamp now;
  std::vector<OrphanedClaim> claims;
};

class RescueStore {
 public:
  virtual ~RescueStore() = default;
  // Every registered host but `self`. Takes no lock.
  virtual Result<std::vector<HostObservation>> hosts(HostId self) = 0;
  // Takes the advisory lock of a host that is as it was seen. False: it came back, or another host rescues it. The lock is this
  // session's until unregister() or unlock().
  virtual Result<bool> take_over(const HostObservation& host) = 0;
  virtual Result<void> unregister(HostId host) = 0;  // it is not registered any more
  virtual Result<void> unlock(HostId host) = 0;

  // Every claim that is known. Reads all of `claims`: done a few times in a lease, not at each look.
  virtual Result<std::vector<ClaimObservation>> claims() = 0;
  // What is still claimed of a dead host.
  virtual Result<OrphanedClaims> orphaned_claims(Shard shard, HostId host, std::size_t most) = 0;
  // What is still claimed by these claims of one shard, as far as they are still unchanged and have been for their whole lease.
  virtual Result<OrphanedClaims> orphaned_claims(Shard shard, std::span<const UnchangedClaim> claims, std::size_t most) = 0;
  // Forgets claims once none of their deliveries is claimed any more: a dead host's, or these.
  virtual Result<void> forget_claims(Shard shard, HostId host) = 0;
  virtual Result<void> forget_claims(Shard shard, std::span<const UnchangedClaim> claims) = 0;
};

}  // namespace waybill
