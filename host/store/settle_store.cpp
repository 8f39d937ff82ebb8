// Ends and retries on their way back: state, schedule, attempt and audit in one transaction, guarded by the claim token.
#include <algorithm>
#include <unordered_map>

#include "store/form_rows.h"
#include "store/pg_stores.h"
#include "store/read_rows.h"

namespace waybill {
namespace {

// A row that has the token is claimed by it. Joins go by the primary key (see Connection::open), however long the queue is.
constexpr Statement kSettle{"settle", R"(
  WITH fact AS MATERIALIZED (
    SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::delivery_status[], $5::bigint[], $6::int[], $7::smallint[], $8::boolean[], $9::text[],
                         $10::jsonb[], $11::bigint[], $12::int[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::int[],
                         $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[],
                         $25::jsonb[], $26::text[], $27::text[], $28::int[], $29::boolean[])
      AS t(delivery, token, status, due, attempts, losses, doubt, reason, result, ended, number, started, finished, outcome, outcome_reason,
           error, code, provider_ref, state, from_state, action, trigger, actor, metadata, progress, type, uncounted, counts)),
  gone AS (
    DELETE FROM ready r USING fact f WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND f.status <> 'due'
    RETURNING f.*, r.org_id, r.submission_id, r.action_order, r.route_id, r.progress::jsonb AS left_behind),
  again AS (
    UPDATE ready r SET status = 'due', due_at = at_micros(f.due), attempt_count = f.attempts, lease_lost = f.losses, queued = f.losses = 0, uncounted = f.uncounted, maybe_sent = f.doubt,
                       progress = coalesce(f.progress, r.progress),
                       claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
    FROM fact f WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND f.status = 'due'
    RETURNING f.*, r.org_id, r.submission_id, r.action_order, r.route_id, NULL::jsonb),
  found AS MATERIALIZED (SELECT * FROM gone UNION ALL SELECT * FROM again),
  attempt AS (
    INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, finished_at, outcome, reason, error, code, provider_ref, counts)
    SELECT $1::smallint, delivery, number, org_id, at_micros(started), at_micros(finished), outcome, outcome_reason, error, code, provider_ref,
           counts
    FROM found WHERE number IS NOT NULL),
  delivery AS (
    UPDATE deliveries d SET status = e.status, attempt_count = e.attempts, reason = e.reason, result = coalesce(e.result, e.left_behind), provider_ref = e.provider_ref,
                            ended_at = at_micros(e.ended)
    FROM gone e WHERE d.shard = $1 AND d.id = e.delivery AND e.delivery <> e.submission_id),
  only_delivery AS (
    INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, attempt_count, reason, result,
                            provider_ref, ended_at)
    SELECT $1::smallint, delivery, org_id, submission_id, action_order, type, route_id, status, attempts, reason, coalesce(result, left_behind),
           provider_ref, at_micros(ended)
    FROM gone WHERE delivery = submission_id),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
    SELECT $1::smallint, submission_id, at_micros(ended), org_id, delivery, action, from_state, state, trigger, actor, 'worker', metadata
    FROM found WHERE action IS NOT NULL)
  SELECT delivery, submission_id FROM found)"};

// The same for ends that differ in little (see LikeEnds): half the work. It must write what kSettle writes; a test compares them.
constexpr Statement kSettleAlike{"settle_alike", R"(
  WITH gone AS (
    DELETE FROM ready r USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int[], $7::text[])
      AS f(delivery, token, started, ended, code, provider_ref)
    WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token
    RETURNING f.delivery, at_micros(f.started) AS started, at_micros(f.ended) AS ended, f.code, f.provider_ref, r.org_id, r.submission_id,
              r.action_order, r.route_id, r.progress),
  attempt AS (
    INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, finished_at, outcome, code, provider_ref)
    SELECT $1::smallint, delivery, $8, org_id, started, ended, $9, code, provider_ref FROM gone),
  delivery AS (
    INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, attempt_count, result, provider_ref,
                            ended_at)
    SELECT $1::smallint, delivery, org_id, submission_id, action_order, $17, route_id, $10, $8, progress::jsonb, provider_ref, ended
    FROM gone),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
    SELECT $1::smallint, submission_id, ended, org_id, delivery, $11, $12, $13, $14, $15, 'worker', $16::jsonb FROM gone)
  SELECT delivery FROM gone)"};

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

class Columns {
 public:
  explicit Columns(Shard shard) : shard_(std::to_string(shard)) {}

  void add(const Settlement& s) {
    const bool ends = s.status != Status::due;
    delivery_.add(s.delivery.value);
    token_.add(s.token.value);
    status_.add(to_string(s.status));
    due_.add(s.due.micros);
    attempts_.add(s.attempt_count);
    losses_.add(s.lease_lost);
    doubt_.add_flag(s.maybe_sent);
    add_text(reason_, s.reason);
    add_text(result_, s.result);
    ends ? ended_.add(s.ended.micros) : ended_.add_null();
    add_attempt(s.attempt);
    add_text(state_, s.submission_state);
    add_text(from_state_, s.from_state);
    add_text(action_, s.action);
    add_text(trigger_, s.trigger);
    add_text(actor_, s.actor);
    add_text(metadata_, s.metadata);
    add_text(progress_, s.progress);
    action_type_.add(s.action_type);
    uncounted_.add(s.uncounted);
    counts_.add_flag(!s.attempt || s.attempt->counts);
  }

  Parameters take() {
    return {shard_,
            delivery_.take(),
            token_.take(),
            status_.take(),
            due_.take(),
            attempts_.take(),
            losses_.take(),
            doubt_.take(),
            reason_.take(),
            result_.take(),
            ended_.take(),
            number_.take(),
            started_.take(),
            finished_.take(),
            outcome_.take(),
            outcome_reason_.take(),
            error_.take(),
            code_.take(),
            provider_ref_.take(),
            state_.take(),
            from_state_.take(),
            action_.take(),
            trigger_.take(),
            actor_.take(),
            metadata_.take(),
            progress_.take(),
            action_type_.take(),
            uncounted_.take(),
            counts_.take()};
  }

 private:
  static void add_text(ArrayText& column, const std::string& text) { text.empty() ? column.add_null() : column.add(text); }

  void add_attempt(const std::optional<AttemptRecord>& a) {
    if (!a) {
      for (ArrayText* column : {&number_, &started_, &finished_, &outcome_, &outcome_reason_, &error_, &code_, &provider_ref_})
        column->add_null();
      return;
    }
    number_.add(a->number);
    started_.add(a->started.micros);
    a->finished ? finished_.add(a->finished->micros) : finished_.add_null();
    outcome_.add(a->outcome);
    add_text(outcome_reason_, a->reason);
    add_text(error_, a->error);
    a->code != 0 ? code_.add(a->code) : code_.add_null();
    add_text(provider_ref_, a->provider_ref);
  }

  std::string shard_;
  ArrayText delivery_, token_, status_, due_, attempts_, losses_, doubt_, reason_, result_, ended_;
  ArrayText number_, started_, finished_, outcome_, outcome_reason_, error_, code_, provider_ref_;
  ArrayText state_, from_state_, action_, trigger_, actor_, metadata_, progress_, action_type_, uncounted_, counts_;
};

// What most ends have in common: they are intents', and their last attempt went without a word to be told. They differ in when,
// and in what the receiver said.
class LikeEnds {
 public:
  static bool may_hold(const Settlement& s) {
    return s.status != Status::due && s.delivery.value == s.submission.value && !s.of_form && !s.dead_letter &&
           !s.action.empty() && s.reason.empty() && s.result.empty() && s.attempt && s.attempt->counts &&
           s.attempt->number == s.attempt_count && s.attempt->finished == s.ended && s.attempt->reason.empty() &&
           s.attempt->error.empty();
  }
  bool takes(const Settlement& s) const {
    const Settlement& f = *first_;
    return s.status == f.status && s.attempt_count == f.attempt_count && s.attempt->outcome == f.attempt->outcome &&
           s.action == f.action && s.from_state == f.from_state && s.submission_state == f.submission_state &&
           s.trigger == f.trigger && s.actor == f.actor && s.metadata == f.metadata && s.action_type == f.action_type;
  }

  explicit LikeEnds(const Settlement& first) : first_(&first) {}

  void add(const Settlement& s) {
    ++count_;
    delivery_.add(s.delivery.value);
    token_.add(s.token.value);
    started_.add(s.attempt->started.micros);
    ended_.add(s.ended.micros);
    s.attempt->code != 0 ? code_.add(s.attempt->code) : code_.add_null();
    s.attempt->provider_ref.empty() ? provider_ref_.add_null() : provider_ref_.add(s.attempt->provider_ref);
  }
  std::size_t size() const { return count_; }

  Parameters take(Shard shard) {
    const Settlement& f = *first_;
    return {std::to_string(shard),
            delivery_.take(),
            token_.take(),
            started_.take(),
            ended_.take(),
            code_.take(),
            provider_ref_.take(),
            std::to_string(f.attempt_count),
            f.attempt->outcome,
            std::string(to_string(f.status)),
            f.action,
            f.from_state,
            f.submission_state,
            f.trigger,
            f.actor,
            f.metadata,
            f.action_type};
  }

 private:
  const Settlement* first_;
  std::size_t count_ = 0;
  ArrayText delivery_, token_, started_, ended_, code_, provider_ref_;
};

class PgSettleStore final : public SettleStore {
 public:
  explicit PgSettleStore(const DatabaseAddress& address) : link_(address, "settle") {}

  Result<Settled> settle(Shard shard, std::span<const Settlement> batch) override {
    const bool has_more = std::any_of(batch.begin(), batch.end(), [](const auto& s) { return s.of_form || s.dead_letter; });
    if (has_more) {
      Columns columns(shard);
      for (const auto& settlement : batch) columns.add(settlement);
      const auto parameters = columns.take();
      return link_.transact([&](Connection& connection) { return settle_with_more(connection, shard, batch, parameters); });
    }
    Columns others(shard);
    std::optional<LikeEnds> alike;  // those that are like the first of them
    bool has_others = false;
    for (const auto& settlement : batch) {
      const bool plain = LikeEnds::may_hold(settlement);
      if (plain && !alike) alike.emplace(settlement);
      if (plain && alike->takes(settlement)) {
        alike->add(settlement);
      } else {
        others.add(settlement);
        has_others = true;
      }
    }
    if (!alike) return held_by(link_.run(kSettle, others.take()));
    if (!has_others) return held_by(link_.run(kSettleAlike, alike->take(shard)));
    return link_.transact([&](Connection& connection) -> Result<Settled> {
      auto settled = held_by(connection.run(kSettleAlike, alike->take(shard)));
      if (!settled) return settled;
      auto rest = held_by(connection.run(kSettle, others.take()));
      if (!rest) return rest;
      settled->held.insert(settled->held.end(), rest->held.begin(), rest->held.end());
      return settled;
    });
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
                                          const Parameters& parameters) {
    auto rows = connection.run(kSettle, parameters);
    if (!rows) return tl::unexpected(rows.error());
    std::unordered_map<std::int64_t, SubmissionId> submission_of;
    for (std::size_t row = 0; row < rows->size(); ++row) submission_of[rows->number(row, 0)] = {rows->number(row, 1)};
    Settled settled;
    std::vector<SettledRow> held;
    for (const auto& settlement : batch) {
      const auto found = submission_of.find(settlement.delivery.value);
      if (found == submission_of.end()) continue;
      settled.held.push_back(settlement.delivery);
      held.push_back({&settlement, found->second});
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
