-- Moving forms' submissions from one action to the next. Used by form_rows.cpp.

-- name: follow_ends
-- Writes the audit of ended actions and stores dead letters. Answers the incidents to raise about the dead letters; there is
-- none about an alert's. A host's estimate of the database's clock may run ahead a little, so no end is stored later than
-- now: one action's end then comes before the next one's.
-- An action type may have words of its own for the audit, in action_words. ends_of_action() says how many rows an end has: what some got
-- and others did not has two. The names stay out of the trail (see audit_of).
-- One element each per settlement: `:ends` in microseconds; `:actions` for the audit (null: no audit); `:dead` says whether it becomes
-- a dead letter; `:subjects` are what its alert is about, `:messages` the alert's words.
-- takes: shard, deliveries, statuses, reasons, ends, actions, triggers, actors, metadata, dead, subjects, messages
-- returns: org_id number, about text?, message text?
WITH fact AS MATERIALIZED (
  SELECT t.*, d.org_id, d.submission_id, d.action_order, d.action_type, d.replay, d.result, s.kind, s.client_ref, s.target
  FROM unnest(:deliveries::bigint[], :statuses::text[], :reasons::text[], :ends::bigint[], :actions::text[], :triggers::text[],
              :actors::text[], :metadata::jsonb[], :dead::boolean[], :subjects::text[], :messages::text[])
    AS t(delivery, status, reason, ended, action, trigger, actor, metadata, dead, about, message)
  JOIN deliveries d ON d.shard = :shard AND d.id = t.delivery
  JOIN submissions s ON s.shard = :shard AND s.id = d.submission_id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                         metadata)
  SELECT :shard::smallint, f.submission_id, least(at_micros(f.ended), clock_timestamp()), f.org_id, f.delivery,
         coalesce(CASE WHEN e.is_done THEN w.done ELSE w.failed END,
                  CASE WHEN e.is_done = (f.status = 'accepted') THEN f.action ELSE f.action_type || '_success' END),
         'claimed', CASE WHEN e.is_done THEN 'accepted' ELSE f.status END, f.trigger, f.actor, 'worker',
         jsonb_build_object('actionOrder', f.action_order) || coalesce(f.metadata, '{}')
  FROM fact f
  LEFT JOIN action_words w ON w.action_type = f.action_type
  LEFT JOIN deliveries b ON b.shard = :shard AND b.org_id = f.org_id AND b.submission_id = f.submission_id
    AND b.action_order = f.action_order AND b.replay = f.replay - 1 AND b.id <> b.submission_id
  CROSS JOIN LATERAL ends_of_action(f.status::delivery_status, f.result, b.result) e
  WHERE f.action IS NOT NULL
  ORDER BY f.ended, f.delivery, e.is_done DESC),
dead AS (
  INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, died_at)
  SELECT :shard::smallint, delivery, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, at_micros(ended)
  FROM fact WHERE dead AND kind <> 'alert')
SELECT org_id, about, message FROM fact WHERE dead AND kind <> 'alert' ORDER BY 1, 2;

-- name: raise_dead_letters
-- Raises the incidents that follow_ends answered.
-- One element each per incident; `:subjects` are what they are about.
-- takes: orgs, subjects, messages
-- returns: raised text?
SELECT raise_alert(t.org, 'dead_letter', t.about, t.message) AS raised
FROM unnest(:orgs::int[], :subjects::text[], :messages::text[]) AS t(org, about, message);

-- name: lock_processing
-- Locks those of the submissions that are processing.
-- takes: shard, submissions
-- returns: id number, org_id number, now time
SELECT id, org_id, micros(now()) AS now FROM submissions
WHERE shard = :shard AND id = ANY (:submissions::bigint[]) AND pipeline = 'form' AND state = 'processing' ORDER BY id FOR UPDATE;

-- name: form_action_states
-- Reads the latest delivery of each action of each submission, with the attempts whose end was seen. Where none counted, the attempts
-- tell: an outage ended them, or nobody saw their end.
-- One element each per submission. Where a delivery has ended, `due` is its end.
-- takes: shard, orgs, submissions
-- returns: submission_id number, action_order number, delivery_id number, status text, attempts number, due time
SELECT DISTINCT ON (t.id, d.action_order)
       t.id AS submission_id,
       d.action_order,
       d.id AS delivery_id,
       d.status,
       d.attempt_count AS attempts,
       micros(d.at) AS due
FROM unnest(:orgs::int[], :submissions::bigint[]) AS t(org_id, id), LATERAL (
  SELECT action_order, replay, delivery_id AS id, status,
         CASE WHEN attempt_count > 0 AND attempt_count = uncounted
              THEN (SELECT count(*)::integer FROM attempts a
                    WHERE a.shard = :shard AND a.delivery_id = ready.delivery_id AND a.outcome <> 'unknown')
              ELSE attempt_count END AS attempt_count, due_at AS at
  FROM ready
  WHERE shard = :shard AND org_id = t.org_id AND submission_id = t.id AND delivery_id <> submission_id
  UNION ALL
  SELECT action_order, replay, id, status, attempt_count, ended_at FROM deliveries
  WHERE shard = :shard AND org_id = t.org_id AND submission_id = t.id AND id <> submission_id) d
ORDER BY t.id, d.action_order, d.replay DESC;

-- name: open_actions
-- Makes deliveries due that waited for their turn, as soon as their submission may be sent.
-- takes: shard, deliveries
-- returns: delivery_id number
UPDATE ready SET status = 'due', queued = true,
                 due_at = greatest(now(), (SELECT not_before FROM submissions s WHERE s.shard = :shard AND s.id = ready.submission_id))
WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[]) AND status = 'waiting' RETURNING delivery_id;

-- name: end_forms
-- Ends submissions whose actions have all ended. An action's end comes from its host's estimate of the database's clock, which
-- may run ahead a little: the submission's end is no earlier.
-- One element each per submission: `:states` are their last ones, `:actions` are for the audit.
-- takes: shard, submissions, states, actions, reasons, trigger
-- returns: to_state text?
WITH fact AS MATERIALIZED (
  SELECT * FROM unnest(:submissions::bigint[], :states::text[], :actions::text[], :reasons::text[]) AS t(id, state, action, reason)),
moved AS (
  UPDATE submissions s SET state = f.state, reason = f.reason,
    completed_at = greatest(clock_timestamp(), (
      SELECT max(d.ended_at) FROM deliveries d
      WHERE d.shard = s.shard AND d.org_id = s.org_id AND d.submission_id = s.id AND d.id <> d.submission_id))
  FROM fact f WHERE s.shard = :shard AND s.id = f.id AND s.state = 'processing'
  RETURNING s.id, s.org_id, s.state, s.completed_at, f.action),
form AS (
  UPDATE form_submissions f SET processing_since = NULL FROM moved m WHERE f.shard = :shard AND f.submission_id = m.id)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
SELECT :shard::smallint, id, completed_at, org_id, action, 'processing', state, :trigger, 'waybill', 'system'
FROM moved RETURNING to_state;

-- name: scans_of
-- Whether a submission is final, how many attachments it has, how many are clean and how many infected, and its organisation.
-- takes: shard, submission
-- returns: is_final flag, attachments number, clean number, infected number, org_id number
SELECT f.finalized_at IS NOT NULL AS is_final,
       count(a.*) AS attachments,
       count(*) FILTER (WHERE a.scan = 'clean') AS clean,
       count(*) FILTER (WHERE a.scan = 'infected') AS infected,
       f.org_id
FROM form_submissions f LEFT JOIN attachments a ON a.shard = f.shard AND a.submission_id = f.submission_id
WHERE f.shard = :shard AND f.submission_id = :submission GROUP BY f.finalized_at, f.org_id;

-- name: begin_form
-- Begins processing a submission. Whoever moves it out of `received` may go on; nobody else gets a row.
-- takes: shard, submission
-- returns: submission_id number
WITH moved AS (
  UPDATE submissions SET state = 'processing' WHERE shard = :shard AND id = :submission AND state = 'received' RETURNING id)
UPDATE form_submissions f SET processing_since = now() FROM moved m
WHERE f.shard = :shard AND f.submission_id = m.id RETURNING f.submission_id;

-- name: infected_form
-- Fails a submission that has an infected attachment. Answers its organisation, client reference and form, for an alert.
-- `:action`, `:trigger` and `:actor` are for the audit.
-- takes: shard, submission, reason, action, trigger, actor
-- returns: org_id number, client_ref text, target text
WITH moved AS (
  UPDATE submissions SET state = 'failed', reason = :reason, completed_at = now()
  WHERE shard = :shard AND id = :submission AND state = 'received' RETURNING id, org_id, client_ref, target),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
  SELECT :shard::smallint, id, now(), org_id, :action, 'received', 'failed', :trigger, :actor, 'system',
         jsonb_build_object('reason', :reason::text)
  FROM moved)
SELECT org_id, client_ref, target FROM moved;

-- name: cancel_open
-- Cancels a submission's deliveries that are not claimed.
-- takes: shard, submission
WITH gone AS (
  DELETE FROM ready r USING contract_snapshots c
  WHERE r.shard = :shard AND r.org_id = (SELECT org_id FROM submissions WHERE shard = :shard AND id = :submission)
    AND r.submission_id = :submission AND r.delivery_id <> r.submission_id AND r.status IN ('waiting', 'due') AND c.route_id = r.route_id
  RETURNING r.*, c.contract::jsonb ->> 'actionType' AS action_type)
INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, replay, action_type, route_id, status, attempt_count, ended_at)
SELECT shard, delivery_id, org_id, submission_id, action_order, replay, action_type, route_id, 'cancelled', attempt_count, now()
FROM gone;

-- name: held_of
-- Counts a submission's unfinished deliveries.
-- takes: shard, submission
-- returns: count number
SELECT count(*) AS count FROM submissions s JOIN ready r ON r.shard = :shard AND r.org_id = s.org_id AND r.submission_id = s.id
  AND r.delivery_id <> r.submission_id
WHERE s.shard = :shard AND s.id = :submission;
