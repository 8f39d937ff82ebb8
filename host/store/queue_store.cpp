// The queue: which routes have work, and taking it.
#include <algorithm>
#include <unordered_map>

#include "store/claimed_rows.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

// A walk over the distinct routes of the partial index: one probe per route, however long its backlog is; what is claimed, at
// most what is in flight, is passed over.
constexpr Statement kDueRoutes{"due_routes", R"(
  WITH RECURSIVE first AS (
    (SELECT route_id, org_id, due_at FROM ready WHERE shard = $1 AND queued AND status = 'due'
     ORDER BY route_id, due_at, delivery_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM first, LATERAL (
      SELECT route_id, org_id, due_at FROM ready WHERE shard = $1 AND queued AND status = 'due' AND route_id > first.route_id
      ORDER BY route_id, due_at, delivery_id LIMIT 1) next)
  SELECT micros(clock_timestamp()), route_id, org_id, micros(due_at) FROM (SELECT 1) one LEFT JOIN first ON true)"};
constexpr Statement kCooldowns{"cooldowns", R"(
  SELECT micros(clock_timestamp()), org_id, target, micros(until), reason, micros(since) FROM (SELECT 1) one LEFT JOIN target_rests ON true)"};

// A probe that nobody ended is another host's to make.
constexpr Statement kBeginProbes{"begin_probes", R"(
  UPDATE target_rests t SET probe_until = clock_timestamp() + $4::bigint * interval '1 millisecond', probe_host = $3
  FROM unnest($1::int[], $2::text[]) AS wanted(org_id, target)
  WHERE t.org_id = wanted.org_id AND t.target = wanted.target AND t.until <= clock_timestamp()
    AND (t.probe_until IS NULL OR t.probe_until < clock_timestamp())
  RETURNING t.org_id, t.target, micros(t.until), t.reason, micros(t.since))"};

// After a pause a target may get what its rate allows in a tenth of a second at once, one at least.
constexpr Statement kTakePermits{"take_permits", R"(
  SELECT granted, wait FROM take_permits($1, $2, $3::integer, $5::bigint * interval '1 microsecond' / $4::integer,
                                         greatest(1, ($4::bigint * 100000 / $5::bigint)::integer)))"};

// What is sent of a delivery c of a submission s: its operator may have edited it.
#define WAYBILL_BODY \
  "CASE WHEN c.edited THEN (SELECT body FROM edited_payloads WHERE shard = $1 AND delivery_id = c.delivery_id) ELSE s.body END"
// Each route gives up to its share, oldest first. The array keeps the plan from becoming a join over the whole table. The claim's
// row in `claims` is inserted, never updated: a token that give_back() has taken away makes the whole statement fail. A body that
// is larger than $14 does not come along: see kBodies.
constexpr Statement kClaim{"claim", R"(
  WITH claimed AS (
    UPDATE ready SET status = 'claimed', claim_token = $2, claimed_by = $3, claimed_at = now(),
                     lease_until = now() + $4::bigint * interval '1 millisecond'
    WHERE shard = $1 AND ctid = ANY (ARRAY(
      SELECT taken.place
      FROM unnest($5::int[], $6::int[], $7::bigint[], $8::bigint[], $10::int[], $11::text[], $12::boolean[], $13::bigint[])
        AS share(route_id, most, after_due, after_id, org_id, cooldown_key, probe, max_age),
      LATERAL (SELECT ctid AS place FROM ready
               WHERE shard = $1 AND route_id = share.route_id AND queued AND status = 'due' AND due_at <= now()
                 AND (due_at, delivery_id) > (at_micros(share.after_due), share.after_id)
                 AND NOT EXISTS (SELECT FROM target_rests t WHERE t.org_id = share.org_id AND t.target = share.cooldown_key AND NOT share.probe)
                 AND (share.max_age IS NULL OR (SELECT created_at FROM submissions s WHERE s.shard = $1 AND s.id = ready.submission_id)
                                               <= now() - share.max_age * interval '1 second')
               ORDER BY due_at, delivery_id LIMIT share.most FOR UPDATE SKIP LOCKED) taken))
    RETURNING delivery_id, submission_id, org_id, route_id, due_at, attempt_count, lease_lost, maybe_sent, action_order, composed, progress,
              edited, uncounted),
  known AS (
    INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
    SELECT $1::smallint, $2::bigint, $3::integer, now() + $4::bigint * interval '1 millisecond', array_agg(delivery_id)
    FROM claimed HAVING count(*) > 0),
  forgotten AS (DELETE FROM claims WHERE shard = $1 AND token = ANY ($9::bigint[]))
  SELECT (SELECT micros(clock_timestamp())), c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at), c.attempt_count, c.lease_lost, c.maybe_sent,
         c.action_order, micros(s.created_at), s.kind, s.client_ref,
         CASE WHEN octet_length()" WAYBILL_BODY R"() <= $14::bigint THEN convert_from()" WAYBILL_BODY R"(, 'UTF8') END,
         CASE WHEN c.composed THEN (SELECT media_type FROM artifacts WHERE shard = $1 AND delivery_id = c.delivery_id) END,
         CASE WHEN c.composed THEN (SELECT encode(body, 'hex') FROM artifacts WHERE shard = $1 AND delivery_id = c.delivery_id) END,
         coalesce(c.progress, ''), c.uncounted, octet_length()" WAYBILL_BODY R"()
  FROM claimed c
  JOIN submissions s ON s.shard = $1 AND s.id = c.submission_id)"};
constexpr Statement kBodies{"claimed_bodies", R"(
  SELECT c.delivery_id, convert_from()" WAYBILL_BODY R"(, 'UTF8')
  FROM ready c JOIN submissions s ON s.shard = $1 AND s.id = c.submission_id
  WHERE c.shard = $1 AND c.delivery_id = ANY ($2::bigint[]))"};

// A claim's statement may go on in the server after its session was lost here. The tombstone has its token: either it waits for
// that statement's end and finds the claim, or that statement finds the tombstone, and fails. It stays as long as a statement may
// live.
constexpr Statement kTombstone{"claim_tombstone", R"(
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  VALUES ($1, $3, $2, now() + interval '1 hour', '{}') ON CONFLICT (shard, token) DO NOTHING)"};
constexpr Statement kGiveBack{"give_back", R"(
  WITH known AS (
    UPDATE claims c SET deliveries = '{}', lease_until = now() + interval '1 hour' FROM claims old
    WHERE c.shard = $1 AND c.token = $2 AND c.host_id = $3 AND old.shard = c.shard AND old.token = c.token RETURNING old.deliveries)
  UPDATE ready r SET status = 'due', claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM known, unnest(known.deliveries) AS one(id)
  WHERE r.shard = $1 AND r.delivery_id = one.id AND r.status = 'claimed' AND r.claim_token = $2)"};
constexpr Statement kForget{"forget_claims", "DELETE FROM claims WHERE shard = $1 AND token = ANY ($2::bigint[])"};
constexpr Statement kContracts{"contracts",
                               "SELECT route_id, org_id, contract FROM contract_snapshots WHERE route_id = ANY ($1::int[])"};

class PgQueueStore final : public QueueStore {
 public:
  explicit PgQueueStore(const DatabaseAddress& address) : link_(address, "claim") {}

  Result<DueRoutes> due_routes(Shard shard) override {
    auto rows = link_.run(kDueRoutes, {std::to_string(shard)});
    if (!rows) return tl::unexpected(rows.error());
    DueRoutes due{.now = rows->time(0, 0), .routes = {}};
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (!rows->is_null(row, 1)) due.routes.push_back({{rows->number(row, 1)}, {rows->number(row, 2)}, rows->time(row, 3)});
    return due;
  }

  Result<Cooldowns> cooldowns() override {
    auto rows = link_.run(kCooldowns);
    if (!rows) return tl::unexpected(rows.error());
    return Cooldowns{rows->time(0, 0), rests_of(*rows, 1)};
  }

  Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) override {
    ArrayText org, target;
    for (const auto& one : targets) {
      org.add(one.org.value);
      target.add(one.target);
    }
    auto rows = link_.run(kBeginProbes, {org.take(), target.take(), std::to_string(host.value), std::to_string(length.count())});
    if (!rows) return tl::unexpected(rows.error());
    return rests_of(*rows, 0);
  }

  Result<Permits> take_permits(OrgId org, const std::string& target, const Rate& rate, std::size_t wanted) override {
    auto rows = link_.run(kTakePermits, {std::to_string(org.value), target, std::to_string(wanted), std::to_string(rate.count),
                                         std::to_string(Micros(rate.per).count())});
    if (!rows) return tl::unexpected(rows.error());
    return Permits{static_cast<std::size_t>(rows->number(0, 0)), Micros{rows->number(0, 1)}};
  }

  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                            const DoneClaims& done, std::size_t most_bytes) override {
    ArrayText route, most, after, after_id, org, cooldown_key, probe, max_age;
    for (const auto& share : shares) {
      route.add(share.route.value);
      most.add(static_cast<std::int64_t>(share.count));
      after.add(share.after.micros);
      after_id.add(share.after_id.value);
      org.add(share.org.value);
      cooldown_key.add(share.cooldown_key);
      probe.add_flag(share.probe);
      share.max_age ? max_age.add(share.max_age->count()) : max_age.add_null();
    }
    std::size_t wanted = 0;
    for (const auto& share : shares) wanted += share.count;
    const auto part = most_bytes / std::max<std::size_t>(wanted, 1);
    auto rows =
        link_.run(kClaim, {std::to_string(shard), std::to_string(token.value), std::to_string(host.value),
                           std::to_string(lease.count()), route.take(), most.take(), after.take(), after_id.take(), tokens(done),
                           org.take(), cooldown_key.take(), probe.take(), max_age.take(), std::to_string(part)});
    if (!rows) return tl::unexpected(rows.error());
    ClaimResult claimed;
    claimed.rows.reserve(rows->size());
    for (std::size_t row = 0; row < rows->size(); ++row) {
      claimed.now = rows->time(row, 0);
      claimed.rows.push_back(read_claimed(*rows, row));
    }
    std::sort(claimed.rows.begin(), claimed.rows.end(),
              [](const auto& a, const auto& b) { return std::pair(a.due, a.delivery) < std::pair(b.due, b.delivery); });
    add_large_bodies(shard, claimed.rows, most_bytes);
    return claimed;
  }

  Result<void> forget(Shard shard, const DoneClaims& done) override {
    auto forgotten = link_.run(kForget, {std::to_string(shard), tokens(done)});
    if (!forgotten) return tl::unexpected(forgotten.error());
    return {};
  }

  Result<void> give_back(Shard shard, HostId host, ClaimToken token) override {
    const std::string shard_text = std::to_string(shard), token_text = std::to_string(token.value);
    const std::string host_text = std::to_string(host.value);
    auto unregistered = link_.run(kTombstone, {shard_text, host_text, token_text});
    if (!unregistered) return tl::unexpected(unregistered.error());
    auto done = link_.run(kGiveBack, {shard_text, token_text, host_text});
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  Result<RouteContract> contract(RouteId route) override {
    auto all = contracts({&route, 1});
    if (!all) return tl::unexpected(all.error());
    if (all->empty()) return fail(Error::Kind::bug, "route " + std::to_string(route.value) + " has no contract that can be read");
    return std::move(all->begin()->second);
  }

  Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) override {
    ArrayText ids;
    for (const auto route : routes) ids.add(route.value);
    auto rows = link_.run(kContracts, {ids.take()});
    if (!rows) return tl::unexpected(rows.error());
    std::map<RouteId, RouteContract> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (auto contract = contract_from_json(rows->text(row, 2)))
        all.emplace(RouteId{rows->number(row, 0)}, RouteContract{{rows->number(row, 1)}, std::move(*contract)});
    return all;
  }

 private:
  static std::vector<Cooldown> rests_of(const Rows& rows, int first) {
    std::vector<Cooldown> all;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!rows.is_null(row, first))
        all.push_back({{rows.number(row, first)},
                       std::string(rows.text(row, first + 1)),
                       rows.time(row, first + 2),
                       std::string(rows.text(row, first + 3)),
                       rows.time(row, first + 4)});
    return all;
  }

  // Most bodies are small and come with the claim; those that are larger than their part come after it, as far as there is room.
  // Without its body a row is given back, so nothing is lost when they do not come.
  void add_large_bodies(Shard shard, std::vector<ClaimedRow>& rows, std::size_t most_bytes) {
    std::size_t bytes = 0;
    for (const auto& row : rows) bytes += row.payload.size();
    std::unordered_map<DeliveryId, ClaimedRow*> large;
    ArrayText ids;
    for (auto& row : rows) {
      if (!row.withheld || (bytes > 0 && bytes + row.body_bytes > most_bytes)) continue;
      bytes += row.body_bytes;
      large.emplace(row.delivery, &row);
      ids.add(row.delivery.value);
    }
    if (large.empty()) return;
    const auto bodies = link_.run(kBodies, {std::to_string(shard), ids.take()});
    if (!bodies) return;
    for (std::size_t row = 0; row < bodies->size(); ++row) {
      ClaimedRow& claimed = *large.at({bodies->number(row, 0)});
      claimed.payload = bodies->text(row, 1);
      claimed.withheld = false;
    }
  }

  static std::string tokens(const DoneClaims& done) {
    ArrayText all;
    for (const auto token : done) all.add(token.value);
    return all.take();
  }

  Link link_;
};

}  // namespace

std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address) { return std::make_unique<PgQueueStore>(address); }

}  // namespace waybill
