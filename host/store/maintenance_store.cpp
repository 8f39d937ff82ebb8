// What periodic tasks ask: how the queue stands, whether a claim was forgotten.
#include <algorithm>
#include <cmath>

#include "store/pg_stores.h"

namespace waybill {
namespace {

// A claim and its row in `claims` are one commit: a claimed row without one, in one snapshot, was forgotten.
constexpr Statement kFindLost{"find_lost_claims", R"(
  WITH found AS (
    INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
    SELECT shard, claim_token, min(claimed_by), timestamptz 'epoch', array_agg(delivery_id) FROM ready r
    WHERE status = 'claimed' AND NOT EXISTS (SELECT FROM claims c WHERE c.shard = r.shard AND c.token = r.claim_token)
    GROUP BY shard, claim_token
    ON CONFLICT DO NOTHING RETURNING cardinality(deliveries) AS rows)
  SELECT coalesce(sum(rows), 0) FROM found)"};

constexpr double kMaxPages = 8'192;  // of 8 KiB: so many are read in some 50 ms
constexpr double kSamplePages = 1'024;
constexpr Statement kQueuePages{"queue_pages", "SELECT pg_relation_size('ready') / current_setting('block_size')::int"};
constexpr Statement kQueueState{"queue_state", "SELECT status, count(*) FROM ready GROUP BY status"};
constexpr Statement kQueueSample{"queue_sample",
                                 "SELECT status, count(*) FROM ready TABLESAMPLE SYSTEM ($1::real) GROUP BY status"};
constexpr Statement kQueued{"queued", "SELECT count(*) FROM (SELECT FROM ready WHERE queued LIMIT $1::bigint) AS counted"};
constexpr Statement kClaimedNow{"claimed_now", "SELECT count(*) FROM claimed"};
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
constexpr Statement kForgetOutages{"forget_outages", R"(
  WITH gone AS (DELETE FROM target_rests WHERE until < now() - $1::bigint * interval '1 millisecond' RETURNING 1)
  SELECT count(*) FROM gone)"};
constexpr Statement kEndOutage{"end_outage", R"(
  WITH gone AS (DELETE FROM target_rests WHERE org_id = $1 AND target = $2 RETURNING until),
  routes AS (
    SELECT route_id FROM (SELECT route_id, contract::jsonb AS c FROM contract_snapshots WHERE org_id = $1) s
    WHERE CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END = $2),
  moved AS (
    UPDATE ready SET due_at = now()
    WHERE route_id = ANY (ARRAY(SELECT route_id FROM routes)) AND status = 'due' AND uncounted > 0 AND due_at > now()
      AND due_at <= (SELECT until FROM gone))
  SELECT count(*) FROM gone)"};
constexpr Statement kMakePartitions{"make_partitions", "SELECT postponed FROM make_partitions_now(2)"};

class PgMaintenanceStore final : public MaintenanceStore {
 public:
  explicit PgMaintenanceStore(const DatabaseAddress& address) : link_(address, "tasks") {}

  Result<std::uint64_t> find_lost_claims() override {
    auto found = link_.run(kFindLost);
    if (!found) return tl::unexpected(found.error());
    return static_cast<std::uint64_t>(found->number(0, 0));
  }

  Result<QueueState> queue_state() override {
    auto pages = link_.run(kQueuePages);
    if (!pages) return tl::unexpected(pages.error());
    const auto size = static_cast<double>(pages->number(0, 0));
    auto counts = size <= kMaxPages ? counted(kQueueState, {}, 1.0) : estimated(size);
    if (!counts) return tl::unexpected(counts.error());
    auto oldest = link_.run(kOldestDue);
    if (!oldest) return tl::unexpected(oldest.error());
    QueueState state{.by_status = std::move(*counts), .oldest_due = {}};
    if (oldest->size() == 1) state.oldest_due = Micros{oldest->number(0, 0)};
    return state;
  }

  Result<std::uint64_t> forget_outages(Millis over_for) override {
    auto gone = link_.run(kForgetOutages, {std::to_string(over_for.count())});
    if (!gone) return tl::unexpected(gone.error());
    return static_cast<std::uint64_t>(gone->number(0, 0));
  }

  Result<bool> end_outage(OrgId org, const std::string& cooldown_key) override {
    auto gone = link_.run(kEndOutage, {std::to_string(org.value), cooldown_key});
    if (!gone) return tl::unexpected(gone.error());
    return gone->number(0, 0) > 0;
  }

  Result<void> make_partitions() override {
    const auto rows = link_.run(kMakePartitions);
    if (!rows) return tl::unexpected(rows.error());
    if (!rows->is_null(0, 0)) return fail(Error::Kind::unavailable, std::string(rows->text(0, 0)));
    return {};
  }

 private:
  using Counts = std::map<std::string, std::uint64_t>;

  Result<Counts> counted(const Statement& statement, const Parameters& parameters, double times) {
    auto rows = link_.run(statement, parameters);
    if (!rows) return tl::unexpected(rows.error());
    Counts counts;
    for (std::size_t row = 0; row < rows->size(); ++row)
      counts[std::string(rows->text(row, 0))] =
          static_cast<std::uint64_t>(std::llround(static_cast<double>(rows->number(row, 1)) * times));
    return counts;
  }

  Result<Counts> estimated(double pages) {
    auto counts = counted(kQueueSample, {std::to_string(100.0 * kSamplePages / pages)}, pages / kSamplePages);
    if (!counts) return counts;
    auto claimed = link_.run(kClaimedNow);
    if (!claimed) return tl::unexpected(claimed.error());
    auto queued = link_.run(kQueued, {std::to_string(kMaxCounted + 1)});
    if (!queued) return tl::unexpected(queued.error());
    const auto in_hands = static_cast<std::uint64_t>(claimed->number(0, 0));
    const auto all = static_cast<std::uint64_t>(queued->number(0, 0));
    auto& due = (*counts)["due"];
    const auto exact = all - std::min(all, in_hands);
    due = all <= kMaxCounted ? exact : std::max(due, exact);
    (*counts)["claimed"] = in_hands;
    return counts;
  }

  static Result<void> done(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<MaintenanceStore> make_maintenance_store(const DatabaseAddress& address) {
  return std::make_unique<PgMaintenanceStore>(address);
}

}  // namespace waybill
