// Rescue on PostgreSQL: dead hosts, their claims, and deleting them.
#include "store/pg_stores.h"
#include "store/queue/history_rows.h"
#include "store/queue/rescue.sql.h"

namespace waybill {
namespace {

class PgRescueStore final : public RescueStore {
 public:
  explicit PgRescueStore(const DatabaseAddress& address) : link_(address, "rescue") {}

  Result<std::vector<HostObservation>> hosts(HostId self) override {
    auto rows = link_.run(sql::observed_hosts, {std::to_string(self.value)});
    TRY(rows);
    std::vector<HostObservation> all;
    for (const auto row : *rows) all.push_back({{row.host_id()}, row.version(), row.is_alive().value_or(false)});
    return all;
  }

  Result<bool> take_over(const HostObservation& host) override {
    auto rows = link_.run(sql::take_over, {std::to_string(host.id.value), std::to_string(host.version)});
    TRY(rows);
    if (rows->empty()) return false;
    if (rows->front().is_as_seen()) {
      const Parameters dead{std::to_string(host.id.value)};
      // As far as it goes at once: a lock on these rows holds up no rescue.
      static_cast<void>(link_.use_briefly([&](Connection& connection) { return connection.run(sql::forget_findings, dead); }));
      return true;
    }
    TRY(unlock(host.id));
    return false;
  }

  Result<void> unregister(HostId host) override { return done(link_.run(sql::unregister, {std::to_string(host.value)})); }
  Result<void> unlock(HostId host) override { return done(link_.run(sql::unlock, {std::to_string(host.value)})); }

  Result<std::vector<ClaimObservation>> claims() override {
    auto rows = link_.run(sql::observed_claims);
    TRY(rows);
    std::vector<ClaimObservation> all;
    for (const auto row : *rows)
      all.push_back({.shard = static_cast<Shard>(row.shard()),
                     .token = {row.token()},
                     .host = {row.host_id()},
                     .lease_until = row.lease_until(),
                     .orphaned = row.is_orphaned()});
    return all;
  }

  Result<OrphanedClaims> orphaned_claims(Shard shard, HostId host, std::size_t most) override {
    return lost(
        link_.run(sql::orphaned_claims_of_host, {std::to_string(shard), std::to_string(host.value), std::to_string(most)}));
  }

  Result<OrphanedClaims> orphaned_claims(Shard shard, std::span<const UnchangedClaim> claims, std::size_t most) override {
    Observation seen(claims);
    return lost(link_.run(sql::orphaned_claims_by_token, {std::to_string(shard), seen.token.take(), seen.lease_until.take(),
                                                          seen.length.take(), std::to_string(most)}));
  }

  Result<void> forget_claims(Shard shard, HostId host) override {
    return done(link_.run(sql::forget_claims_of_host, {std::to_string(shard), std::to_string(host.value)}));
  }

  Result<void> forget_claims(Shard shard, std::span<const UnchangedClaim> claims) override {
    Observation seen(claims);
    return done(link_.run(sql::forget_observed_claims, {std::to_string(shard), seen.token.take(), seen.lease_until.take()}));
  }

 private:
  template <class Answer>
  static Result<void> done(const Result<Answer>& rows) {
    TRY(rows);
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

  template <class OneRow>
  static Result<OrphanedClaims> lost(const Result<RowsOf<OneRow>>& rows) {
    TRY(rows);
    OrphanedClaims lost;
    for (const auto row : *rows) {
      lost.now = row.now();
      lost.claims.push_back({.delivery = {row.delivery_id()},
                             .token = {row.claim_token()},
                             .org = {row.org_id()},
                             .route = {row.route_id()},
                             .host = {row.host_id()},
                             .kind = std::string(row.kind()),
                             .client_ref = std::string(row.client_ref()),
                             .action_order = static_cast<int>(row.action_order()),
                             .claimed_at = row.claimed(),
                             .created = row.created(),
                             .history = read_history(row),
                             .trace = row.trace() ? trace_from(*row.trace()) : nullptr,
                             .terms = row.terms() ? terms_from(*row.terms()) : nullptr});
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
