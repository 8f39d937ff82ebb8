// The rescue statements: which hosts are alive, and what dead ones held. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "domain/history.h"
#include "domain/submission_terms.h"

namespace waybill {

// A host as seen by one look.
struct HostObservation {
  HostId id;
  std::int64_t version;  // of its row, which a host rewrites when it comes back
  bool lives;            // its advisory lock is held
};

// A claim as seen by one look.
struct ClaimObservation {
  Shard shard;
  ClaimToken token;
  HostId host;
  Timestamp lease_until;  // each renewal changes it
  bool orphaned;          // its host is no longer registered: a claim can commit after its host was rescued
};

// A claim that a rescuer has seen unchanged for `length`, by its own clock.
struct UnchangedClaim {
  ClaimObservation claim;
  Micros length;
};

struct OrphanedDelivery {
  DeliveryId delivery;
  ClaimToken token;
  OrgId org;
  RouteId route;
  HostId host;
  std::string kind;  // of the submission
  std::string client_ref;
  int action_order = 1;
  Timestamp claimed_at;
  Timestamp created;  // of the submission
  History history;    // before the attempt that its host was lost with
  Trace trace{};      // of the submission
  Terms terms{};      // likewise
};
struct OrphanedClaims {
  Timestamp now;
  std::vector<OrphanedDelivery> claims;
};

class RescueStore {
 public:
  virtual ~RescueStore() = default;
  // Every registered host except `self`. Takes no lock.
  virtual Result<std::vector<HostObservation>> hosts(HostId self) = 0;
  // Takes the advisory lock of a host that has not changed since the look. False: it came back, or another host rescues it. This
  // session holds the lock until unregister() or unlock().
  virtual Result<bool> take_over(const HostObservation& host) = 0;
  virtual Result<void> unregister(HostId host) = 0;
  virtual Result<void> unlock(HostId host) = 0;

  // Every claim in `claims`. Reads the whole table: call it a few times per lease, not at each look.
  virtual Result<std::vector<ClaimObservation>> claims() = 0;
  // The deliveries that a dead host still has claimed.
  virtual Result<OrphanedClaims> orphaned_claims(Shard shard, HostId host, std::size_t most) = 0;
  // The deliveries still claimed by these claims of one shard, for claims that stayed unchanged for their whole lease.
  virtual Result<OrphanedClaims> orphaned_claims(Shard shard, std::span<const UnchangedClaim> claims, std::size_t most) = 0;
  // Deletes claims without claimed deliveries: a dead host's, or these.
  virtual Result<void> forget_claims(Shard shard, HostId host) = 0;
  virtual Result<void> forget_claims(Shard shard, std::span<const UnchangedClaim> claims) = 0;
};

}  // namespace waybill
