// The queue: which routes have work, and taking it.
#include <algorithm>

#include "store/pg_stores.h"

namespace waybill {
namespace {

// A walk over the distinct routes of the partial index: one probe per route, however long its backlog is; what is claimed, at
// most what is in flight, is passed over.
constexpr Statement kDueRoutes{"due_routes", R"(
  WITH RECURSIVE first AS (
    (SELECT route_id, due_at FROM ready WHERE shard = $1 AND queued AND status = 'due' ORDER BY route_id, due_at, delivery_id LIMIT 1)
    UNION ALL
    SELECT next.route_id, next.due_at FROM first, LATERAL (
      SELECT route_id, due_at FROM ready WHERE shard = $1 AND queued AND status = 'due' AND route_id > first.route_id
      ORDER BY route_id, due_at, delivery_id LIMIT 1) next)
  SELECT micros(now()), route_id, micros(due_at), NULL, NULL, NULL, NULL FROM (SELECT 1) one LEFT JOIN first ON true
  UNION ALL
  SELECT NULL, NULL, NULL, org_id, target, micros(until), reason FROM target_rests WHERE until > now())"};

// Each route gives up to its share, oldest first. The array keeps the plan from becoming a join over the whole table.
constexpr Statement kClaim{"claim", R"(
  WITH claimed AS (
    UPDATE ready SET status = 'claimed', claim_token = $2, claimed_by = $3, claimed_at = now(),
                     lease_until = now() + $4::bigint * interval '1 millisecond'
    WHERE shard = $1 AND ctid = ANY (ARRAY(
      SELECT taken.place
      FROM unnest($5::int[], $6::int[], $7::bigint[], $8::bigint[], $10::int[], $11::text[])
        AS share(route_id, most, after_due, after_id, org_id, unless_rests),
      LATERAL (SELECT ctid AS place FROM ready
               WHERE shard = $1 AND route_id = share.route_id AND queued AND status = 'due' AND due_at <= now()
                 AND (due_at, delivery_id) > (at_micros(share.after_due), share.after_id)
                 AND NOT EXISTS (SELECT FROM target_rests t WHERE t.org_id = share.org_id AND t.target = share.unless_rests AND t.until > now())
               ORDER BY due_at, delivery_id LIMIT share.most FOR UPDATE SKIP LOCKED) taken))
    RETURNING delivery_id, submission_id, org_id, route_id, due_at, attempt_count, lease_lost, maybe_sent, action_order, composed, progress,
              edited, uncounted),
  known AS (
    INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
    SELECT $1::smallint, $2::bigint, $3::integer, now() + $4::bigint * interval '1 millisecond', array_agg(delivery_id)
    FROM claimed HAVING count(*) > 0
    ON CONFLICT (shard, token) DO UPDATE SET lease_until = excluded.lease_until, deliveries = claims.deliveries || excluded.deliveries),
  forgotten AS (DELETE FROM claims WHERE shard = $1 AND token = ANY ($9::bigint[]))
  SELECT (SELECT micros(clock_timestamp())), c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at), c.attempt_count, c.lease_lost, c.maybe_sent,
         c.action_order, micros(s.created_at), s.kind, s.client_ref,
         convert_from(CASE WHEN c.edited THEN (SELECT body FROM edited_payloads WHERE shard = $1 AND delivery_id = c.delivery_id)
                           WHEN s.body IS NULL THEN (SELECT body FROM payloads WHERE shard = $1 AND submission_id = c.submission_id)
                           ELSE s.body END, 'UTF8'),
         CASE WHEN c.composed THEN (SELECT media_type FROM artifacts WHERE shard = $1 AND delivery_id = c.delivery_id) END,
         CASE WHEN c.composed THEN (SELECT encode(body, 'hex') FROM artifacts WHERE shard = $1 AND delivery_id = c.delivery_id) END,
         coalesce(c.progress, ''), c.uncounted
  FROM claimed c
  JOIN submissions s ON s.shard = $1 AND s.id = c.submission_id)"};

constexpr Statement kGiveBack{"give_back", R"(
  WITH known AS (DELETE FROM claims WHERE shard = $1 AND host_id = $2 AND token = $3 RETURNING deliveries)
  UPDATE ready r SET status = 'due', claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM known, unnest(known.deliveries) AS one(id)
  WHERE r.shard = $1 AND r.delivery_id = one.id AND r.status = 'claimed' AND r.claim_token = $3)"};
constexpr Statement kForget{"forget_claims", "DELETE FROM claims WHERE shard = $1 AND token = ANY ($2::bigint[])"};
constexpr Statement kContract{"contract", "SELECT org_id, contract FROM contract_snapshots WHERE route_id = $1"};

class PgQueueStore final : public QueueStore {
 public:
  explicit PgQueueStore(const DatabaseAddress& address) : link_(address, "claim") {}

  Result<DueRoutes> due_routes(Shard shard) override {
    auto rows = link_.run(kDueRoutes, {std::to_string(shard)});
    if (!rows) return tl::unexpected(rows.error());
    DueRoutes due{.now = rows->time(0, 0), .routes = {}, .rests = {}};
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (!rows->is_null(row, 1)) due.routes.push_back({{rows->number(row, 1)}, rows->time(row, 2)});
      if (!rows->is_null(row, 3))
        due.rests.push_back(
            {{rows->number(row, 3)}, std::string(rows->text(row, 4)), rows->time(row, 5), std::string(rows->text(row, 6))});
    }
    return due;
  }

  Result<Claimed> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                        const DoneClaims& done) override {
    ArrayText route, most, after, after_id, org, unless_rests;
    for (const auto& share : shares) {
      route.add(share.route.value);
      most.add(static_cast<std::int64_t>(share.count));
      after.add(share.after.micros);
      after_id.add(share.after_id.value);
      org.add(share.org.value);
      unless_rests.add(share.unless_rests);
    }
    auto rows = link_.run(
        kClaim, {std::to_string(shard), std::to_string(token.value), std::to_string(host.value), std::to_string(lease.count()),
                 route.take(), most.take(), after.take(), after_id.take(), tokens(done), org.take(), unless_rests.take()});
    if (!rows) return tl::unexpected(rows.error());
    Claimed claimed;
    claimed.rows.reserve(rows->size());
    for (std::size_t row = 0; row < rows->size(); ++row) {
      claimed.now = rows->time(row, 0);
      claimed.rows.push_back({.delivery = {rows->number(row, 1)},
                              .submission = {rows->number(row, 2)},
                              .org = {rows->number(row, 3)},
                              .route = {rows->number(row, 4)},
                              .due = rows->time(row, 5),
                              .attempt_count = static_cast<std::uint32_t>(rows->number(row, 6)),
                              .lease_lost = static_cast<std::uint32_t>(rows->number(row, 7)),
                              .uncounted = static_cast<std::uint32_t>(rows->number(row, 17)),
                              .maybe_sent = rows->flag(row, 8),
                              .action_order = static_cast<int>(rows->number(row, 9)),
                              .created = rows->time(row, 10),
                              .kind = std::string(rows->text(row, 11)),
                              .client_ref = std::string(rows->text(row, 12)),
                              .payload = std::string(rows->text(row, 13)),
                              .artifact = artifact(*rows, row),
                              .progress = std::string(rows->text(row, 16))});
    }
    std::sort(claimed.rows.begin(), claimed.rows.end(),
              [](const auto& a, const auto& b) { return std::pair(a.due, a.delivery) < std::pair(b.due, b.delivery); });
    return claimed;
  }

  Result<void> forget(Shard shard, const DoneClaims& done) override {
    auto forgotten = link_.run(kForget, {std::to_string(shard), tokens(done)});
    if (!forgotten) return tl::unexpected(forgotten.error());
    return {};
  }

  Result<void> give_back(Shard shard, HostId host, ClaimToken token) override {
    auto done = link_.run(kGiveBack, {std::to_string(shard), std::to_string(host.value), std::to_string(token.value)});
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  Result<RouteContract> contract(RouteId route) override {
    auto rows = link_.run(kContract, {std::to_string(route.value)});
    if (!rows) return tl::unexpected(rows.error());
    if (rows->size() != 1) return fail(Error::Kind::bug, "route " + std::to_string(route.value) + " has no contract");
    auto contract = contract_from_json(rows->text(0, 1));
    if (!contract) return tl::unexpected(contract.error());
    return RouteContract{{rows->number(0, 0)}, std::move(*contract)};
  }

 private:
  static std::string tokens(const DoneClaims& done) {
    ArrayText all;
    for (const auto token : done) all.add(token.value);
    return all.take();
  }

  static std::optional<Artifact> artifact(const Rows& rows, std::size_t row) {
    if (rows.is_null(row, 14)) return std::nullopt;
    return Artifact{std::string(rows.text(row, 14)), from_hex(rows.text(row, 15))};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address) { return std::make_unique<PgQueueStore>(address); }

}  // namespace waybill
