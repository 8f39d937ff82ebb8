// What upkeep asks: who is dead, what they left, how the queue stands.
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr Statement kDeadHosts{
    "dead_hosts",
    "SELECT host_id FROM hosts WHERE host_id <> $1 AND pg_try_advisory_lock(hashtext('waybill:' || current_schema()), host_id)"};
constexpr Statement kBury{"bury", R"(
  WITH gone AS (DELETE FROM hosts WHERE host_id = $1)
  SELECT pg_advisory_unlock(hashtext('waybill:' || current_schema()), $1))"};

#define WAYBILL_LOST_CLAIMS                                                                                        \
  "SELECT micros(now()), r.delivery_id, r.claim_token, r.org_id, r.route_id, r.claimed_by, micros(r.claimed_at), " \
  "micros(s.created_at), r.attempt_count, r.lease_lost, s.kind, s.client_ref, r.uncounted "                        \
  "FROM claimed r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id WHERE r.shard = $1 AND "
// Also claims of hosts that are buried already: a claim can commit after its host has died.
#define WAYBILL_IS_LOST(ends, host) "(" ends " < now() OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = " host "))"
constexpr Statement kLostByHost{"lost_by_host", WAYBILL_LOST_CLAIMS "r.host_id = $2 LIMIT $3"};
constexpr Statement kLostByLease{"lost_by_lease", WAYBILL_LOST_CLAIMS WAYBILL_IS_LOST("r.claim_ends", "r.host_id") " LIMIT $2"};
constexpr Statement kForgetLost{
    "forget_lost_claims",
    "DELETE FROM claims c WHERE c.shard = $1 AND " WAYBILL_IS_LOST(
        "c.lease_until",
        "c.host_id") " AND NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token)"};
constexpr Statement kFindLost{"find_lost_claims", R"(
  WITH found AS (
    INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
    SELECT shard, claim_token, min(claimed_by), now() - interval '1 second', array_agg(delivery_id) FROM ready r
    WHERE status = 'claimed' AND NOT EXISTS (SELECT FROM claims c WHERE c.shard = r.shard AND c.token = r.claim_token)
    GROUP BY shard, claim_token
    ON CONFLICT DO NOTHING RETURNING cardinality(deliveries) AS rows)
  SELECT coalesce(sum(rows), 0) FROM found)"};

constexpr Statement kQueueState{"queue_state", "SELECT status, count(*) FROM ready GROUP BY status"};
// One probe per shard and route would be exact; the oldest of the queue's front is what an operator watches, and costs one scan
// of the index's distinct routes.
constexpr Statement kOldestDue{"oldest_due", R"(
  WITH RECURSIVE first AS (
    (SELECT shard, route_id, due_at FROM ready WHERE queued AND status = 'due' ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM first, LATERAL (
      SELECT shard, route_id, due_at FROM ready WHERE queued AND status = 'due' AND (shard, route_id) > (first.shard, first.route_id)
      ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next)
  SELECT micros(now()) - micros(min(due_at)) FROM first HAVING min(due_at) <= now())"};
constexpr Statement kMakePartitions{"make_partitions", "SELECT make_partitions(2)"};

class PgUpkeepStore final : public UpkeepStore {
 public:
  explicit PgUpkeepStore(const DatabaseAddress& address) : link_(address, "upkeep") {}

  Result<std::vector<HostId>> dead_hosts(HostId self) override {
    auto rows = link_.run(kDeadHosts, {std::to_string(self.value)});
    if (!rows) return tl::unexpected(rows.error());
    std::vector<HostId> dead(rows->size());
    for (std::size_t row = 0; row < dead.size(); ++row) dead[row] = {rows->number(row, 0)};
    return dead;
  }

  Result<void> bury(HostId host) override { return done(link_.run(kBury, {std::to_string(host.value)})); }

  Result<LostClaims> lost_claims(Shard shard, std::optional<HostId> host, std::size_t most) override {
    const std::string shard_text = std::to_string(shard), most_text = std::to_string(most);
    auto rows = host ? link_.run(kLostByHost, {shard_text, std::to_string(host->value), most_text})
                     : link_.run(kLostByLease, {shard_text, most_text});
    if (!rows) return tl::unexpected(rows.error());
    LostClaims lost;
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

  Result<void> forget_lost_claims(Shard shard) override { return done(link_.run(kForgetLost, {std::to_string(shard)})); }

  Result<std::uint64_t> find_lost_claims() override {
    auto found = link_.run(kFindLost);
    if (!found) return tl::unexpected(found.error());
    return static_cast<std::uint64_t>(found->number(0, 0));
  }

  Result<QueueState> queue_state() override {
    auto counts = link_.run(kQueueState);
    if (!counts) return tl::unexpected(counts.error());
    auto oldest = link_.run(kOldestDue);
    if (!oldest) return tl::unexpected(oldest.error());
    QueueState state;
    for (std::size_t row = 0; row < counts->size(); ++row)
      state.by_status[std::string(counts->text(row, 0))] = static_cast<std::uint64_t>(counts->number(row, 1));
    if (oldest->size() == 1) state.oldest_due = Micros{oldest->number(0, 0)};
    return state;
  }

  Result<void> make_partitions() override { return done(link_.run(kMakePartitions)); }

 private:
  static Result<void> done(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<UpkeepStore> make_upkeep_store(const DatabaseAddress& address) {
  return std::make_unique<PgUpkeepStore>(address);
}

}  // namespace waybill
