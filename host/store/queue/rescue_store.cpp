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
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({{rows->number(row, 0)}, rows->number(row, 1), rows->flag(row, 2)});
    return all;
  }

  Result<bool> take_over(const HostObservation& host) override {
    auto rows = link_.run(sql::take_over, {std::to_string(host.id.value), std::to_string(host.version)});
    TRY(rows);
    if (rows->size() == 0) return false;
    if (rows->flag(0, 0)) return true;
    TRY(unlock(host.id));
    return false;
  }

  Result<void> unregister(HostId host) override { return done(link_.run(sql::unregister, {std::to_string(host.value)})); }
  Result<void> unlock(HostId host) override { return done(link_.run(sql::unlock, {std::to_string(host.value)})); }

  Result<std::vector<ClaimObservation>> claims() override {
    auto rows = link_.run(sql::observed_claims);
    TRY(rows);
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
  static Result<void> done(const Result<Rows>& rows) {
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

  static Result<OrphanedClaims> lost(const Result<Rows>& rows) {
    TRY(rows);
    OrphanedClaims lost;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      lost.now = rows->time(row, 0);
      lost.claims.push_back({.delivery = {rows->number(row, 1)},
                             .token = {rows->number(row, 2)},
                             .org = {rows->number(row, 3)},
                             .route = {rows->number(row, 4)},
                             .host = {rows->number(row, 5)},
                             .kind = std::string(rows->text(row, 8)),
                             .client_ref = std::string(rows->text(row, 9)),
                             .action_order = static_cast<int>(rows->number(row, 10)),
                             .claimed_at = rows->time(row, 6),
                             .created = rows->time(row, 7),
                             .history = read_history(*rows, row, 11)});
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
