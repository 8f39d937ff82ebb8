// Ends and retries on their way back: state, schedule, attempt and audit in one transaction, guarded by the claim token.
#include <algorithm>
#include <map>

#include "store/form_rows.h"
#include "store/pg_stores.h"
#include "store/read_rows.h"
#include "store/settle_statement.h"

namespace waybill {
namespace {

constexpr Statement kKeep{"keep", R"(
  WITH made AS MATERIALIZED (
    SELECT f.*, r.place, r.org_id
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) AS f(delivery, token, media_type, body),
    LATERAL (SELECT ctid AS place, org_id FROM ready WHERE shard = $1 AND delivery_id = f.delivery AND claim_token = f.token FOR UPDATE) r),
  kept AS (
    INSERT INTO artifacts (shard, delivery_id, org_id, media_type, body)
    SELECT $1::smallint, delivery, org_id, media_type, body FROM made),
  again AS (
    UPDATE ready r SET status = 'due', composed = true, claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
    FROM made m WHERE r.shard = $1 AND r.ctid = m.place)
  SELECT delivery FROM made)"};

constexpr Statement kRest{"rest", R"(
  INSERT INTO target_rests (org_id, target, until, reason)
  SELECT org_id, target, at_micros(max(until)), min(reason)
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[]) AS t(org_id, target, until, reason) GROUP BY org_id, target
  ON CONFLICT (org_id, target) DO UPDATE SET until = greatest(target_rests.until, excluded.until),
    reason = CASE WHEN excluded.until > target_rests.until THEN excluded.reason ELSE target_rests.reason END)"};

constexpr Statement kAddFailures{"add_failures", R"(
  INSERT INTO provider_failures AS f (org_id, since, until, action_type, target, reason, count)
  SELECT org_id, at_micros(begins), at_micros(begins + $6::bigint), action_type, target, reason, count
  FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS t(org_id, action_type, target, reason, count),
       (SELECT micros(now()) / $6::bigint * $6::bigint AS begins) period
  ON CONFLICT (org_id, until, action_type, target, reason) DO UPDATE SET count = f.count + excluded.count)"};

class PgSettleStore final : public SettleStore {
 public:
  explicit PgSettleStore(const DatabaseAddress& address) : link_(address, "settle") {}

  Result<Settled> settle(Shard shard, std::span<const Settlement> batch) override {
    SettleBatch form(batch);
    const Statement& statement = form.statement();
    const Parameters parameters = form.take(shard);
    const bool has_more = std::any_of(batch.begin(), batch.end(), [](const auto& s) { return s.of_form || s.dead_letter; });
    if (!has_more) return held_by(link_.run(statement, parameters));
    return link_.transact(
        [&](Connection& connection) { return settle_with_more(connection, shard, batch, statement, parameters); });
  }

  Result<std::vector<DeliveryId>> keep(Shard shard, std::span<const Composed> batch) override {
    ArrayText delivery, token, type, body;
    for (const auto& one : batch) {
      delivery.add(one.delivery.value);
      token.add(one.token.value);
      type.add(one.artifact.type);
      body.add(bytea(one.artifact.bytes));
    }
    return deliveries(link_.run(kKeep, {std::to_string(shard), delivery.take(), token.take(), type.take(), body.take()}));
  }

  Result<void> rest(std::span<const Rest> rests) override {
    ArrayText org, target, until, reason;
    for (const auto& one : rests) {
      org.add(one.org.value);
      target.add(one.target);
      until.add(one.until.micros);
      reason.add(one.reason);
    }
    auto rows = link_.run(kRest, {org.take(), target.take(), until.take(), reason.take()});
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

  Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) override {
    ArrayText org, action_type, target, reason, count;
    for (const auto& one : failures) {
      org.add(one.org.value);
      action_type.add(one.action_type);
      target.add(one.target);
      reason.add(one.reason);
      count.add(static_cast<std::int64_t>(one.count));
    }
    auto rows = link_.run(kAddFailures, {org.take(), action_type.take(), target.take(), reason.take(), count.take(),
                                         std::to_string(Micros(period).count())});
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

 private:
  // What concerns more than the settled rows goes into the same transaction.
  static Result<Settled> settle_with_more(Connection& connection, Shard shard, std::span<const Settlement> batch,
                                          const Statement& statement, const Parameters& parameters) {
    auto rows = connection.run(statement, parameters);
    if (!rows) return tl::unexpected(rows.error());
    std::map<std::pair<DeliveryId, ClaimToken>, SubmissionId> submission_of;
    for (std::size_t row = 0; row < rows->size(); ++row)
      submission_of[{{rows->number(row, SettleBatch::kDelivery)}, {rows->number(row, SettleBatch::kToken)}}] = {
          rows->number(row, SettleBatch::kSubmission)};
    Settled settled;
    std::vector<SettledRow> held;
    for (const auto& settlement : batch) {
      const auto found = submission_of.find({settlement.delivery, settlement.token});
      if (found == submission_of.end()) continue;
      settled.held.push_back(settlement.delivery);
      held.push_back({&settlement, found->second});
      submission_of.erase(found);
    }
    auto ended = follow_up(connection, shard, held);
    if (!ended) return tl::unexpected(ended.error());
    settled.form_states = std::move(*ended);
    return settled;
  }

  static Result<Settled> held_by(const Result<Rows>& rows) {
    auto held = deliveries(rows);
    if (!held) return tl::unexpected(held.error());
    return Settled{std::move(*held), {}};
  }

  static Result<std::vector<DeliveryId>> deliveries(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    std::vector<DeliveryId> held(rows->size());
    for (std::size_t row = 0; row < held.size(); ++row) held[row] = {rows->number(row, 0)};
    return held;
  }

  Link link_;
};

}  // namespace

std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address) {
  return std::make_unique<PgSettleStore>(address);
}

}  // namespace waybill
