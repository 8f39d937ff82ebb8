// Who is dead, what they left, and forgetting it.
#include "store/host_lock.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

// The locks are read once, and not at all when this host is the only one. The session's own locks are those of hosts that it
// rescues.
constexpr Statement kHosts{"hosts_seen", R"(
  SELECT h.host_id, h.xmin::text,
         h.host_id = ANY (ARRAY(SELECT l.objid::bigint::int FROM )" WAYBILL_HOST_LOCK_ROWS R"( AND l.pid <> pg_backend_pid()))
  FROM hosts h WHERE h.host_id <> $1)"};
constexpr Statement kTakeOver{"take_over", R"(
  SELECT EXISTS (SELECT FROM hosts WHERE host_id = $1 AND xmin::text = $2)
  FROM (SELECT pg_try_advisory_lock()" WAYBILL_HOST_LOCK("$1::int") R"() AS taken OFFSET 0) lock WHERE taken)"};
constexpr Statement kUnregister{"unregister", R"(
  WITH gone AS (DELETE FROM hosts WHERE host_id = $1::int)
  SELECT pg_advisory_unlock()" WAYBILL_HOST_LOCK("$1::int") ")"};
constexpr Statement kUnlock{"unlock", "SELECT pg_advisory_unlock(" WAYBILL_HOST_LOCK("$1::int") ")"};

constexpr Statement kClaims{"claims_seen", R"(
  SELECT shard, token, host_id, micros(lease_until),
         lease_until = timestamptz 'epoch' OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = c.host_id)
  FROM claims c)"};

#define WAYBILL_LOST_CLAIMS                                                                                        \
  "SELECT micros(now()), r.delivery_id, r.claim_token, r.org_id, r.route_id, r.claimed_by, micros(r.claimed_at), " \
  "micros(s.created_at), r.attempt_count, r.lease_lost, s.kind, s.client_ref, r.uncounted "                        \
  "FROM claimed r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id WHERE r.shard = $1 AND "
constexpr Statement kLostByHost{"lost_by_host", WAYBILL_LOST_CLAIMS "r.host_id = $2 LIMIT $3"};
// The lease is what its host gave it, not this host's setting. Both its ends are of one clock, so their distance is its length.
constexpr Statement kLostByClaim{"lost_by_claim", WAYBILL_LOST_CLAIMS R"(
  EXISTS (SELECT FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS seen(token, lease_until, length)
          WHERE seen.token = r.claim_token AND seen.lease_until = micros(r.claim_ends)
            AND seen.length >= micros(r.lease_until) - micros(r.claimed_at)) LIMIT $5)"};
#define WAYBILL_NOTHING_CLAIMED "NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token)"
constexpr Statement kForgetHost{
    "forget_claims_of_host",
    "DELETE FROM claims c WHERE c.shard = $1 AND c.host_id = $2 AND cardinality(c.deliveries) > 0 AND " WAYBILL_NOTHING_CLAIMED};
constexpr Statement kForgetSeen{"forget_claims_seen", R"(
  DELETE FROM claims c USING unnest($2::bigint[], $3::bigint[]) AS seen(token, lease_until)
  WHERE c.shard = $1 AND c.token = seen.token AND micros(c.lease_until) = seen.lease_until AND )" WAYBILL_NOTHING_CLAIMED};

class PgRescueStore final : public RescueStore {
 public:
  explicit PgRescueStore(const DatabaseAddress& address) : link_(address, "rescue") {}

  Result<std::vector<HostObservation>> hosts(HostId self) override {
    auto rows = link_.run(kHosts, {std::to_string(self.value)});
    if (!rows) return tl::unexpected(rows.error());
    std::vector<HostObservation> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({{rows->number(row, 0)}, rows->number(row, 1), rows->flag(row, 2)});
    return all;
  }

  Result<bool> take_over(const HostObservation& host) override {
    auto rows = link_.run(kTakeOver, {std::to_string(host.id.value), std::to_string(host.version)});
    if (!rows) return tl::unexpected(rows.error());
    if (rows->size() == 0) return false;
    if (rows->flag(0, 0)) return true;
    if (auto done = unlock(host.id); !done) return tl::unexpected(done.error());
    return false;
  }

  Result<void> unregister(HostId host) override { return done(link_.run(kUnregister, {std::to_string(host.value)})); }
  Result<void> unlock(HostId host) override { return done(link_.run(kUnlock, {std::to_string(host.value)})); }

  Result<std::vector<ClaimObservation>> claims() override {
    auto rows = link_.run(kClaims);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<ClaimObservation> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.shard = static_cast<Shard>(rows->number(row, 0)),
                     .token = {rows->number(row, 1)},
                     .host = {rows->number(row, 2)},
                     .lease_until = rows->time(row, 3),
                     .orphaned = rows->flag(row, 4)});
    return all;
  }

  Result<OrphanedClaims> orphaned_claims(Shard shard, HostId host, std::size_t most) override {
    return lost(link_.run(kLostByHost, {std::to_string(shard), std::to_string(host.value), std::to_string(most)}));
  }

  Result<OrphanedClaims> orphaned_claims(Shard shard, std::span<const UnchangedClaim> claims, std::size_t most) override {
    Observation seen(claims);
    return lost(link_.run(kLostByClaim, {std::to_string(shard), seen.token.take(), seen.lease_until.take(), seen.length.take(),
                                         std::to_string(most)}));
  }

  Result<void> forget_claims(Shard shard, HostId host) override {
    return done(link_.run(kForgetHost, {std::to_string(shard), std::to_string(host.value)}));
  }

  Result<void> forget_claims(Shard shard, std::span<const UnchangedClaim> claims) override {
    Observation seen(claims);
    return done(link_.run(kForgetSeen, {std::to_string(shard), seen.token.take(), seen.lease_until.take()}));
  }

 private:
  static Result<void> done(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

  struct Observation {
    explicit Observation(std::span<const UnchangedClaim> claims) {
      for (const auto& [claim, unchanged] : claims) {
        token.add(claim.token.value);
        lease_until.add(claim.lease_until.micros);
        length.add(std::int64_t{unchanged.count()});
      }
    }
    ArrayText token, lease_until, length;
  };

  static Result<OrphanedClaims> lost(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    OrphanedClaims lost;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      lost.now = rows->time(row, 0);
      lost.claims.push_back({.delivery = {rows->number(row, 1)},
                             .token = {rows->number(row, 2)},
                             .org = {rows->number(row, 3)},
                             .route = {rows->number(row, 4)},
                             .host = {rows->number(row, 5)},
                             .kind = std::string(rows->text(row, 10)),
                             .client_ref = std::string(rows->text(row, 11)),
                             .claimed_at = rows->time(row, 6),
                             .created = rows->time(row, 7),
                             .attempt_count = static_cast<std::uint32_t>(rows->number(row, 8)),
                             .lease_lost = static_cast<std::uint32_t>(rows->number(row, 9)),
                             .uncounted = static_cast<std::uint32_t>(rows->number(row, 12))});
    }
    return lost;
  }

  Link link_;
};

}  // namespace

std::unique_ptr<RescueStore> make_rescue_store(const DatabaseAddress& address) {
  return std::make_unique<PgRescueStore>(address);
}

}  // namespace waybill
