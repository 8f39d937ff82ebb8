// Suspects on PostgreSQL: an index of them alone, and an advisory lock.
#include "domain/decide.h"
#include "store/claimed_rows.h"
#include "store/suspects.h"

namespace waybill {
namespace {

#define WAYBILL_QUARANTINE_LOCK "hashtext('waybill-quarantine:' || current_schema()), 0"
// The lock is tried only where there is something to do, and is let go with the statement.
constexpr Statement kIsWanted{"suspects_wanted", R"(
  SELECT CASE WHEN EXISTS (SELECT FROM ready WHERE lease_lost > 0 AND status = 'due' AND due_at <= now())
         THEN pg_try_advisory_xact_lock()" WAYBILL_QUARANTINE_LOCK R"() ELSE false END)"};
// A session that has the lock gets it again.
constexpr Statement kLead{"suspects_lead", "SELECT pg_try_advisory_lock(" WAYBILL_QUARANTINE_LOCK ")"};
constexpr Statement kNextDue{"suspects_next_due", R"(
  SELECT greatest(0, micros(min(due_at)) - micros(now())) FROM ready WHERE lease_lost > 0 AND status = 'due' HAVING count(*) > 0)"};
// As hosts claim, but one row, and of suspects. Those whose target rests wait on.
constexpr Statement kClaim{"claim_suspect", R"(
  WITH claimed AS (
    UPDATE ready SET status = 'claimed', claim_token = $2, claimed_by = $3, claimed_at = now(),
                     lease_until = now() + $4::bigint * interval '1 millisecond'
    WHERE shard = $1 AND ctid = ANY (ARRAY(
      SELECT r.ctid FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
      WHERE r.shard = $1 AND r.lease_lost > 0 AND r.status = 'due' AND r.due_at <= now()
        AND NOT EXISTS (SELECT FROM target_rests t WHERE t.org_id = r.org_id AND t.until > now()
                          AND t.target IN (c.contract::jsonb ->> 'target', 'sender:' || (c.contract::jsonb ->> 'actionType')))
      ORDER BY r.due_at, r.delivery_id LIMIT 1 FOR UPDATE OF r SKIP LOCKED))
    RETURNING delivery_id, submission_id, org_id, route_id, due_at, attempt_count, lease_lost, maybe_sent, action_order, composed, progress,
              edited, uncounted),
  known AS (
    INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
    SELECT $1::smallint, $2::bigint, $3::integer, now() + $4::bigint * interval '1 millisecond', array_agg(delivery_id)
    FROM claimed HAVING count(*) > 0)
  SELECT micros(clock_timestamp()), c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at), c.attempt_count, c.lease_lost, c.maybe_sent,
         c.action_order, micros(s.created_at), s.kind, s.client_ref,
         convert_from(CASE WHEN c.edited THEN e.body ELSE s.body END, 'UTF8'), a.media_type, encode(a.body, 'hex'), coalesce(c.progress, ''),
         c.uncounted, octet_length(CASE WHEN c.edited THEN e.body ELSE s.body END)
  FROM claimed c
  JOIN submissions s ON s.shard = $1 AND s.id = c.submission_id
  LEFT JOIN edited_payloads e ON c.edited AND e.shard = $1 AND e.delivery_id = c.delivery_id
  LEFT JOIN artifacts a ON c.composed AND a.shard = $1 AND a.delivery_id = c.delivery_id)"};
// One death fewer than it takes: the last one is counted where the delivery can end, when it was tried alone.
constexpr Statement kAccuse{"accuse", R"(
  WITH found AS (
    SELECT status, attempt_count, lease_lost FROM ready
    WHERE shard = $1 AND delivery_id = $2 AND attempt_count - uncounted = $4 AND lease_lost = $5 FOR UPDATE),
  accused AS (
    UPDATE ready r SET lease_lost = least(f.lease_lost + 1, $6::int - 1), queued = false, due_at = now() + $7::bigint * interval '1 millisecond'
    FROM found f WHERE r.shard = $1 AND r.delivery_id = $2 AND f.status = 'due' AND f.attempt_count >= $3 RETURNING 1)
  SELECT CASE WHEN EXISTS (SELECT FROM accused) THEN 1 WHEN EXISTS (SELECT FROM found) THEN 0 ELSE 2 END)"};
constexpr Statement kRemind{"remind_alert", "SELECT remind_alert($1, $2, $3, $4, $5::bigint * interval '1 millisecond')"};
constexpr Statement kRaise{"raise_alert", "SELECT raise_alert($1, $2, $3, $4)"};

class PgSuspectStore final : public SuspectStore {
 public:
  explicit PgSuspectStore(const DatabaseAddress& address) : link_(address, "suspects") {}

  Result<bool> is_help_wanted() override { return flag(link_.run(kIsWanted)); }
  Result<bool> lead() override { return flag(link_.run(kLead)); }

  Result<std::optional<Micros>> next_due() override {
    auto rows = link_.run(kNextDue);
    if (!rows) return tl::unexpected(rows.error());
    if (rows->size() == 0) return std::nullopt;
    return Micros{rows->number(0, 0)};
  }

  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease) override {
    auto rows = link_.run(
        kClaim, {std::to_string(shard), std::to_string(token.value), std::to_string(host.value), std::to_string(lease.count())});
    if (!rows) return tl::unexpected(rows.error());
    ClaimResult claimed{};
    for (std::size_t row = 0; row < rows->size(); ++row) {
      claimed.now = rows->time(row, 0);
      claimed.rows.push_back(read_claimed(*rows, row));
    }
    return claimed;
  }

  Result<Accused> accuse(const Lost& lost, Millis apart) override {
    auto rows = link_.run(kAccuse, {std::to_string(shard_of(lost.delivery)), std::to_string(lost.delivery.value),
                                    std::to_string(lost.attempt), std::to_string(lost.counted), std::to_string(lost.losses),
                                    std::to_string(kMaxLeasesLost), std::to_string(apart.count())});
    if (!rows) return tl::unexpected(rows.error());
    const auto answer = rows->number(0, 0);
    return answer == 1 ? Accused::yes : answer == 0 ? Accused::too_early : Accused::too_late;
  }

  Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                      Millis apart) override {
    auto rows = link_.run(kRemind, {std::to_string(org.value), kind, about, words, std::to_string(apart.count())});
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

  Result<void> raise_alert(OrgId org, const std::string& kind, const std::string& about, const std::string& words) override {
    auto rows = link_.run(kRaise, {std::to_string(org.value), kind, about, words});
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

 private:
  static Result<bool> flag(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    return rows->flag(0, 0);
  }

  Link link_;
};

}  // namespace

std::unique_ptr<SuspectStore> make_suspect_store(const DatabaseAddress& address) {
  return std::make_unique<PgSuspectStore>(address);
}

}  // namespace waybill
