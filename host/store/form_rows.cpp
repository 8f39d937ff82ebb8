// Moving submissions of forms: rows in, a pure decision of domain/form_pipeline, rows out.
#include "store/form_rows.h"

#include <algorithm>

#include "domain/form_pipeline.h"
#include "store/read_rows.h"

namespace waybill {
namespace {

// The audit of ends, and who died. An alert about an alert is not raised. A host's reckoning of the database's clock may run
// ahead a little, so an end is told no later than now: then one action's comes before the next one's.
constexpr Statement kFollowEnds{"follow_ends", R"(
  WITH fact AS MATERIALIZED (
    SELECT t.*, d.org_id, d.submission_id, d.action_order, d.action_type, s.kind, s.client_ref, s.target, s.pipeline
    FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::jsonb[], $9::boolean[])
      AS t(delivery, status, reason, ended, trigger, actor, metadata, dead)
    JOIN deliveries d ON d.shard = $1 AND d.id = t.delivery
    JOIN submissions s ON s.shard = $1 AND s.id = d.submission_id),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                           metadata)
    SELECT $1::smallint, f.submission_id, least(at_micros(f.ended), clock_timestamp()), f.org_id, f.delivery,
           CASE WHEN f.status = 'accepted' THEN coalesce(w.done, f.action_type || '_success')
                ELSE coalesce(w.failed, f.action_type || '_failure') END,
           'claimed', f.status, f.trigger, f.actor, 'worker', f.metadata
    FROM fact f LEFT JOIN action_words w ON w.action_type = f.action_type
    WHERE f.pipeline = 'form' AND f.status <> 'deferred'),
  dead AS (
    INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, died_at)
    SELECT $1::smallint, delivery, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, at_micros(ended)
    FROM fact WHERE dead AND kind <> 'alert'
    RETURNING org_id, kind, client_ref, target, action_order, action_type, reason)
  SELECT org_id, target || '/' || action_order || ':' || reason,
         kind || ' ' || client_ref || ': ' || target || ', action ' || action_order || ' (' || action_type || ') ended as ' || reason
  FROM dead ORDER BY 1, 2)"};
constexpr Statement kRaise{"raise_dead_letters", R"(
  SELECT raise_alert(t.org, 'dead_letter', t.about, t.words) FROM unnest($1::int[], $2::text[], $3::text[]) AS t(org, about, words))"};

constexpr Statement kLockProcessing{"lock_processing", R"(
  SELECT id, org_id, micros(now()) FROM submissions
  WHERE shard = $1 AND id = ANY ($2::bigint[]) AND pipeline = 'form' AND state = 'processing' ORDER BY id FOR UPDATE)"};

constexpr Statement kActions{"form_actions_standing", R"(
  SELECT DISTINCT ON (t.id, d.action_order) t.id, d.action_order, d.id, d.status, d.attempt_count, micros(d.at)
  FROM unnest($2::int[], $3::bigint[]) AS t(org_id, id), LATERAL (
    SELECT action_order, replay, delivery_id AS id, status, attempt_count, due_at AS at FROM ready
    WHERE shard = $1 AND org_id = t.org_id AND submission_id = t.id AND delivery_id <> submission_id
    UNION ALL
    SELECT action_order, replay, id, status, attempt_count, ended_at FROM deliveries
    WHERE shard = $1 AND org_id = t.org_id AND submission_id = t.id AND id <> submission_id) d
  ORDER BY t.id, d.action_order, d.replay DESC)"};

constexpr Statement kOpen{"open_actions", R"(
  UPDATE ready SET status = 'due', queued = true, due_at = now()
  WHERE shard = $1 AND delivery_id = ANY ($2::bigint[]) AND status = 'waiting' RETURNING delivery_id)"};

// An action's end is told by its host's reckoning of the database's clock, which may run ahead a little: the submission's is no
// earlier.
constexpr Statement kEnd{"end_forms", R"(
  WITH fact AS MATERIALIZED (SELECT * FROM unnest($2::bigint[], $3::text[]) AS t(id, state)),
  moved AS (
    UPDATE submissions s SET state = f.state, reason = CASE WHEN f.state = 'failed' THEN 'action_failed' END,
      completed_at = greatest(clock_timestamp(), (SELECT max(d.ended_at) FROM deliveries d WHERE d.shard = s.shard AND d.org_id = s.org_id
                                                                                           AND d.submission_id = s.id AND d.id <> d.submission_id))
    FROM fact f WHERE s.shard = $1 AND s.id = f.id AND s.state = 'processing' RETURNING s.id, s.org_id, s.state, s.completed_at),
  rest AS (
    UPDATE form_submissions f SET processing_since = NULL FROM moved m WHERE f.shard = $1 AND f.submission_id = m.id)
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT $1::smallint, id, completed_at, org_id, CASE state WHEN 'routed' THEN 'submission_routed' ELSE 'submission_route_failed' END,
         'processing', state, 'all_actions_ended', 'waybill', 'system'
  FROM moved RETURNING to_state)"};

constexpr Statement kScans{"scans_of", R"(
  SELECT f.finalized_at IS NOT NULL, count(a.*), count(*) FILTER (WHERE a.scan = 'clean'), count(*) FILTER (WHERE a.scan = 'infected'), f.org_id
  FROM form_submissions f LEFT JOIN attachments a ON a.shard = f.shard AND a.submission_id = f.submission_id
  WHERE f.shard = $1 AND f.submission_id = $2 GROUP BY f.finalized_at, f.org_id)"};

// The claim of a submission: whoever moves it out of `received` has it, and nobody else.
constexpr Statement kBegin{"begin_form", R"(
  WITH moved AS (
    UPDATE submissions SET state = 'processing' WHERE shard = $1 AND id = $2 AND state = 'received' RETURNING id)
  UPDATE form_submissions f SET processing_since = now() FROM moved m
  WHERE f.shard = $1 AND f.submission_id = m.id RETURNING f.submission_id)"};

constexpr Statement kInfected{"infected_form", R"(
  WITH moved AS (
    UPDATE submissions SET state = 'failed', reason = 'infected_attachment', completed_at = now()
    WHERE shard = $1 AND id = $2 AND state = 'received' RETURNING id, org_id, client_ref, target),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
    SELECT $1::smallint, id, now(), org_id, 'submission_route_failed', 'received', 'failed', 'scan_result', $3, 'system',
           '{"reason":"infected_attachment"}'::jsonb
    FROM moved)
  SELECT raise_alert(org_id, 'infected_attachment', target, 'form submission ' || client_ref || ' of ' || target ||
                     ' has an infected attachment; nothing of it was sent')
  FROM moved)"};

constexpr Statement kCancel{"cancel_open", R"(
  WITH gone AS (
    DELETE FROM ready r USING contract_snapshots c
    WHERE r.shard = $1 AND r.org_id = (SELECT org_id FROM submissions WHERE shard = $1 AND id = $2) AND r.submission_id = $2
      AND r.delivery_id <> r.submission_id AND r.status IN ('waiting', 'due') AND c.route_id = r.route_id
    RETURNING r.*, c.contract::jsonb ->> 'actionType' AS action_type)
  INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, replay, action_type, route_id, status, attempt_count, ended_at)
  SELECT shard, delivery_id, org_id, submission_id, action_order, replay, action_type, route_id, 'cancelled', attempt_count, now()
  FROM gone)"};
constexpr Statement kHeld{"held_of", R"(
  SELECT count(*) FROM submissions s JOIN ready r ON r.shard = $1 AND r.org_id = s.org_id AND r.submission_id = s.id
    AND r.delivery_id <> r.submission_id
  WHERE s.shard = $1 AND s.id = $2)"};

Result<void> follow_ends(Connection& connection, const std::string& shard, std::span<const SettlementRow> rows,
                         std::vector<Parameters>& alerts) {
  ArrayText delivery, status, reason, ended, trigger, actor, metadata, dead;
  bool any = false;
  for (const auto& row : rows) {
    const Settlement& s = *row.settlement;
    if (s.status == Status::due || !(s.of_form || s.dead_letter)) continue;
    any = true;
    delivery.add(s.delivery.value);
    status.add(to_string(s.status));
    reason.add(s.reason);
    ended.add(s.ended.micros);
    trigger.add(s.trigger);
    actor.add(s.actor);
    metadata.add(s.metadata);
    dead.add_flag(s.dead_letter);
  }
  if (!any) return {};
  auto died = connection.run(kFollowEnds, {shard, delivery.take(), status.take(), reason.take(), ended.take(), trigger.take(),
                                           actor.take(), metadata.take(), dead.take()});
  if (!died) return tl::unexpected(died.error());
  if (died->size() == 0) return {};
  ArrayText org, about, words;
  for (std::size_t row = 0; row < died->size(); ++row) {
    org.add(died->number(row, 0));
    about.add(died->text(row, 1));
    words.add(died->text(row, 2));
  }
  alerts.push_back({org.take(), about.take(), words.take()});
  return {};
}

Status status_of(const Rows& rows, std::size_t row, int column) {
  return status_from(rows.text(row, column)).value_or(Status::due);
}

}  // namespace

Result<std::vector<std::string>> follow_up(Connection& connection, Shard shard, std::span<const SettlementRow> rows) {
  std::vector<Parameters> alerts;
  if (auto done = follow_ends(connection, std::to_string(shard), rows, alerts); !done) return tl::unexpected(done.error());
  std::vector<SubmissionId> forms;
  for (const auto& row : rows)
    if (row.settlement->of_form) forms.push_back(row.submission);
  auto advanced = advance(connection, shard, forms);
  if (!advanced) return tl::unexpected(advanced.error());
  for (const auto& alert : alerts)  // last: incidents are rows that many transactions want
    if (auto raised = connection.run(kRaise, alert); !raised) return tl::unexpected(raised.error());
  return std::move(advanced->ended);
}

Result<FormAdvance> advance(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions) {
  if (submissions.empty()) return FormAdvance{};
  const std::string shard_text = std::to_string(shard);
  ArrayText wanted;
  for (const auto id : submissions) wanted.add(id.value);
  auto locked = connection.run(kLockProcessing, {shard_text, wanted.take()});
  if (!locked) return tl::unexpected(locked.error());
  if (locked->size() == 0) return FormAdvance{};
  ArrayText org, id;
  for (std::size_t row = 0; row < locked->size(); ++row) {
    id.add(locked->number(row, 0));
    org.add(locked->number(row, 1));
  }
  auto rows = connection.run(kActions, {shard_text, org.take(), id.take()});
  if (!rows) return tl::unexpected(rows.error());
  const Timestamp now = locked->time(0, 2);

  FormAdvance advanced;
  ArrayText open, end, state;
  bool any_open = false, any_end = false;
  for (std::size_t row = 0; row < rows->size();) {
    const std::int64_t submission = rows->number(row, 0);
    std::vector<ActionState> actions;
    for (; row < rows->size() && rows->number(row, 0) == submission; ++row)
      actions.push_back({.order = static_cast<int>(rows->number(row, 1)),
                         .delivery = {rows->number(row, 2)},
                         .status = status_of(*rows, row, 3),
                         .attempts = static_cast<std::uint32_t>(rows->number(row, 4)),
                         .due = rows->time(row, 5)});
    const FormStep step = next_step(actions, now);
    if (step.open) {
      open.add(step.open->value);
      any_open = true;
    }
    if (!step.end.empty()) {
      end.add(submission);
      state.add(step.end);
      any_end = true;
    }
  }
  if (any_open) {
    auto opened = connection.run(kOpen, {shard_text, open.take()});
    if (!opened) return tl::unexpected(opened.error());
    advanced.moved += opened->size();
  }
  if (any_end) {
    auto ended = connection.run(kEnd, {shard_text, end.take(), state.take()});
    if (!ended) return tl::unexpected(ended.error());
    for (std::size_t row = 0; row < ended->size(); ++row) advanced.ended.emplace_back(ended->text(row, 0));
    advanced.moved += ended->size();
  }
  return advanced;
}

Result<std::string> begin_if_ready(Connection& connection, SubmissionId submission, const std::string& actor) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  auto scans = connection.run(kScans, key);
  if (!scans) return tl::unexpected(scans.error());
  if (scans->size() != 1) return fail(Error::Kind::bug, "a form's submission has no row in form_submissions");
  const auto count = [&](int column) { return static_cast<std::size_t>(scans->number(0, column)); };
  switch (readiness_of(scans->flag(0, 0), {.attachments = count(1), .clean = count(2), .infected = count(3)})) {
    case Readiness::wait:
      return "received";
    case Readiness::run: {
      if (auto begun = connection.run(kBegin, key); !begun) return tl::unexpected(begun.error());
      auto advanced = advance(connection, shard_of(submission), {submission});
      if (!advanced) return tl::unexpected(advanced.error());
      return "processing";
    }
    case Readiness::infected: {
      if (auto cancelled = cancel_open(connection, submission); !cancelled) return tl::unexpected(cancelled.error());
      Parameters parameters = key;
      parameters.emplace_back(actor);
      if (auto failed = connection.run(kInfected, parameters); !failed) return tl::unexpected(failed.error());
      return "failed";
    }
  }
  return "received";
}

Result<bool> cancel_open(Connection& connection, SubmissionId submission) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  if (auto cancelled = connection.run(kCancel, key); !cancelled) return tl::unexpected(cancelled.error());
  auto held = connection.run(kHeld, key);
  if (!held) return tl::unexpected(held.error());
  return held->number(0, 0) == 0;
}

}  // namespace waybill
