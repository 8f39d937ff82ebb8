// Incidents from being raised to being told and closed; what is stuck; failures until their digest.
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr Statement kRemind{"remind_alert", "SELECT remind_alert($1, $2, $3, $4, $5::bigint * interval '1 millisecond')"};

constexpr Statement kCountNew{"count_new_alerts", R"(
  WITH new AS MATERIALIZED (
    SELECT org_id, incident, count, counted FROM alerts WHERE count > counted FOR UPDATE SKIP LOCKED),
  done AS (
    UPDATE alerts a SET counted = n.count FROM new n WHERE a.org_id = n.org_id AND a.incident = n.incident
    RETURNING a.kind, n.count - n.counted AS more)
  SELECT kind, sum(more) FROM done GROUP BY kind)"};

// One host at a time reserves, so that the cap holds for all of them together. FOR UPDATE looks at the newest version of each
// row: what another host reserved a moment ago is passed over.
constexpr Statement kReserve{"reserve_alerts", R"(
  WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtext('waybill-alerts:' || current_schema())) AS mine),
  due AS MATERIALIZED (
    SELECT a.org_id, a.incident, a.count,
           a.org_id || ':' || a.incident || ':' || micros(a.first_at) || ':' || a.told AS key
    FROM alerts a
    WHERE (SELECT mine FROM turn) AND a.telling IS NULL AND a.count > a.told
      AND (a.told_at IS NULL OR a.told_at <= now() - $1::bigint * interval '1 millisecond')
    FOR UPDATE SKIP LOCKED),
  recent AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE NOT summed) AS messages,
           coalesce(bool_or(summed AND (telling IS NOT NULL OR told_at > now() - $3::bigint * interval '1 millisecond')), false) AS summary
    FROM alerts WHERE telling IS NOT NULL OR told_at > now() - $1::bigint * interval '1 millisecond'),
  flood AS MATERIALIZED (
    SELECT (SELECT messages FROM recent) + count(*) > $2 AS is_on,
           'alerts-' || left(encode(sha256(convert_to(coalesce(string_agg(key, ' ' ORDER BY key), ''), 'UTF8')), 'hex'), 32) AS reference
    FROM due)
  UPDATE alerts a
  SET telling_count = d.count, summed = f.is_on,
      telling = CASE WHEN f.is_on THEN f.reference
                     ELSE 'alert-' || left(encode(sha256(convert_to(d.key, 'UTF8')), 'hex'), 32) END
  FROM due d, flood f
  WHERE a.org_id = d.org_id AND a.incident = d.incident AND NOT (f.is_on AND (SELECT summary FROM recent)))"};

constexpr Statement kReserved{"reserved_alerts", R"(
  SELECT telling, org_id, incident, kind, message, telling_count, micros(first_at), micros(last_at)
  FROM alerts WHERE telling IS NOT NULL ORDER BY telling, last_at DESC, org_id, incident)"};
constexpr Statement kTold{"alert_told", R"(
  WITH done AS (
    UPDATE alerts SET told = telling_count, told_at = now(), telling = NULL, telling_count = NULL WHERE telling = $1 RETURNING 1)
  SELECT count(*) FROM done)"};
constexpr Statement kClose{"close_alerts", R"(
  DELETE FROM alerts
  WHERE telling IS NULL AND told = count AND counted = count
    AND greatest(last_at, told_at) < now() - $1::bigint * interval '1 millisecond')"};

// A walk over the distinct routes of the partial index, one probe per route; only of a route whose first row is late are further
// rows looked at.
constexpr Statement kStuckDeliveries{"stuck_deliveries", R"(
  WITH RECURSIVE first AS (
    (SELECT shard, route_id, due_at FROM ready WHERE queued AND status = 'due' ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM first, LATERAL (
      SELECT shard, route_id, due_at FROM ready WHERE queued AND status = 'due' AND (shard, route_id) > (first.shard, first.route_id)
      ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next),
  late AS MATERIALIZED (
    SELECT f.shard, f.route_id, c.org_id, c.contract::jsonb AS contract
    FROM first f JOIN contract_snapshots c ON c.route_id = f.route_id
    WHERE f.due_at < now() - $1::bigint * interval '1 millisecond')
  SELECT l.org_id, l.contract ->> 'target', l.contract ->> 'actionType', oldest.client_ref, micros(now()), micros(oldest.due_at),
         (SELECT count(*) FROM (
            SELECT FROM ready r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
            WHERE r.shard = l.shard AND r.route_id = l.route_id AND r.queued AND r.status = 'due' AND s.kind <> 'alert'
              AND r.due_at < now() - $1::bigint * interval '1 millisecond' LIMIT $2) AS counted),
         (SELECT count(*) FROM claimed r WHERE r.shard = l.shard AND r.route_id = l.route_id)
  FROM late l, LATERAL (
    SELECT r.due_at, s.client_ref FROM ready r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
    WHERE r.shard = l.shard AND r.route_id = l.route_id AND r.queued AND r.status = 'due' AND s.kind <> 'alert'
      AND r.due_at < now() - $1::bigint * interval '1 millisecond'
    ORDER BY r.due_at, r.delivery_id LIMIT 1) oldest
  WHERE NOT EXISTS (SELECT FROM target_rests t WHERE t.org_id = l.org_id AND t.until > now()
                      AND t.target = CASE WHEN l.contract -> 'form' IS NULL THEN l.contract ->> 'target' ELSE 'sender:' || (l.contract ->> 'actionType') END))"};
constexpr Statement kStuckForms{"stuck_forms", R"(
  SELECT s.org_id, s.target, (array_agg(s.client_ref ORDER BY f.processing_since, s.id))[1], micros(now()), micros(min(f.processing_since)),
         count(*)
  FROM form_submissions f JOIN submissions s ON s.shard = f.shard AND s.id = f.submission_id
  WHERE f.processing_since < now() - $1::bigint * interval '1 millisecond'
  GROUP BY s.org_id, s.target)"};

// A period is left alone for a moment: what was settled at its very end may not be committed yet.
constexpr Statement kFinishedFailures{"finished_failures", R"(
  SELECT org_id, micros(since), micros(until), action_type, target, reason, count FROM provider_failures
  WHERE until <= now() - interval '2 seconds' ORDER BY org_id, until, count DESC, action_type, target, reason)"};
constexpr Statement kDigest{"digest_failures", R"(
  WITH gone AS (
    DELETE FROM provider_failures p
    USING unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS t(until, action_type, target, reason, count)
    WHERE p.org_id = $1 AND p.until = at_micros(t.until) AND p.action_type = t.action_type AND p.target = t.target
      AND p.reason = t.reason AND p.count = t.count
    RETURNING 1)
  SELECT raise_alert($1, 'provider_failures', $7, $8) WHERE EXISTS (SELECT FROM gone))"};

Result<void> done(const Result<Rows>& rows) {
  if (!rows) return tl::unexpected(rows.error());
  return {};
}

std::uint64_t count_at(const Rows& rows, std::size_t row, int column) {
  return static_cast<std::uint64_t>(rows.number(row, column));
}

class PgAlertStore final : public AlertStore {
 public:
  explicit PgAlertStore(const DatabaseAddress& address) : link_(address, "alerts") {}

  Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                      Millis apart) override {
    return done(link_.run(kRemind, {std::to_string(org.value), kind, about, words, std::to_string(apart.count())}));
  }

  Result<std::map<std::string, std::uint64_t>> count_new() override {
    const auto rows = link_.run(kCountNew);
    if (!rows) return tl::unexpected(rows.error());
    std::map<std::string, std::uint64_t> counts;
    for (std::size_t row = 0; row < rows->size(); ++row) counts[std::string(rows->text(row, 0))] = count_at(*rows, row, 1);
    return counts;
  }

  Result<std::vector<Notification>> notifications(const NotificationRules& rules) override {
    const auto reserved = link_.run(kReserve, {std::to_string(rules.quiet.count()), std::to_string(rules.most_messages),
                                               std::to_string(rules.between_summaries.count())});
    if (!reserved) return tl::unexpected(reserved.error());
    const auto rows = link_.run(kReserved);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<Notification> all;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (all.empty() || all.back().reference != rows->text(row, 0)) all.push_back({std::string(rows->text(row, 0)), {}});
      all.back().incidents.push_back({.org = {rows->number(row, 1)},
                                      .name = std::string(rows->text(row, 2)),
                                      .kind = std::string(rows->text(row, 3)),
                                      .words = std::string(rows->text(row, 4)),
                                      .count = count_at(*rows, row, 5),
                                      .first = rows->time(row, 6),
                                      .last = rows->time(row, 7)});
    }
    return all;
  }

  Result<bool> told(const std::string& reference) override {
    const auto rows = link_.run(kTold, {reference});
    if (!rows) return tl::unexpected(rows.error());
    return rows->number(0, 0) > 0;
  }

  Result<void> close(Millis after) override { return done(link_.run(kClose, {std::to_string(after.count())})); }

  Result<std::vector<Stuck>> stuck(Millis longer_than) override {
    const std::string length = std::to_string(longer_than.count());
    const auto deliveries = link_.run(kStuckDeliveries, {length, std::to_string(kMaxStuckCounted + 1)});
    if (!deliveries) return tl::unexpected(deliveries.error());
    const auto forms = link_.run(kStuckForms, {length});
    if (!forms) return tl::unexpected(forms.error());
    std::vector<Stuck> all;
    for (std::size_t row = 0; row < deliveries->size(); ++row)
      all.push_back({.what = Stuck::What::deliveries,
                     .org = {deliveries->number(row, 0)},
                     .about = std::string(deliveries->text(row, 1)),
                     .action_type = std::string(deliveries->text(row, 2)),
                     .reference = std::string(deliveries->text(row, 3)),
                     .now = deliveries->time(row, 4),
                     .since = deliveries->time(row, 5),
                     .count = count_at(*deliveries, row, 6),
                     .in_flight = count_at(*deliveries, row, 7)});
    for (std::size_t row = 0; row < forms->size(); ++row)
      all.push_back({.what = Stuck::What::form,
                     .org = {forms->number(row, 0)},
                     .about = std::string(forms->text(row, 1)),
                     .action_type = {},
                     .reference = std::string(forms->text(row, 2)),
                     .now = forms->time(row, 3),
                     .since = forms->time(row, 4),
                     .count = count_at(*forms, row, 5)});
    return all;
  }

  Result<std::vector<ProviderFailure>> finished_failures() override {
    const auto rows = link_.run(kFinishedFailures);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<ProviderFailure> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.org = {rows->number(row, 0)},
                     .since = rows->time(row, 1),
                     .until = rows->time(row, 2),
                     .action_type = std::string(rows->text(row, 3)),
                     .target = std::string(rows->text(row, 4)),
                     .reason = std::string(rows->text(row, 5)),
                     .count = count_at(*rows, row, 6)});
    return all;
  }

  Result<void> digest(std::span<const ProviderFailure> failures, const std::string& about, const std::string& words) override {
    ArrayText until, action_type, target, reason, count;
    for (const auto& one : failures) {
      until.add(one.until.micros);
      action_type.add(one.action_type);
      target.add(one.target);
      reason.add(one.reason);
      count.add(static_cast<std::int64_t>(one.count));
    }
    return done(link_.run(kDigest, {std::to_string(failures.front().org.value), until.take(), action_type.take(), target.take(),
                                    reason.take(), count.take(), about, words}));
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address) { return std::make_unique<PgAlertStore>(address); }

}  // namespace waybill
