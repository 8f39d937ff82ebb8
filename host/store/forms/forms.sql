-- Submissions of forms on their way in, what their API reads, sweeping and purging. Used by form_submit.cpp, form_read.cpp and
-- form_store.cpp.

-- name: now
-- Answers the server's clock.
-- returns: now time
SELECT micros(now()) AS now;

-- name: submit_form
-- Stores a submission with its deliveries, which wait. No row if its key is taken.
-- `:hash` is the SHA-256 of what was handed in, `:kept_until` the end of its retention in microseconds. Per action: one element
-- each of `:places` and `:routes`.
-- takes: shard, org, client_ref, form, hash, payload, kept_until, places, routes, trace, not_before, expires, producer
-- returns: id number, created time
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body, trace, not_before,
                           expires_at, producer)
  VALUES (:shard, nextval('object_ids') * 1024 + :shard::smallint, :org, 'form', :client_ref, 'form', :form, 'received', :hash, now(),
          convert_to(:payload, 'UTF8'), :trace, at_micros(:not_before), at_micros(:expires), :producer)
  ON CONFLICT DO NOTHING RETURNING id),
more AS (
  INSERT INTO form_submissions (shard, submission_id, org_id, retention_expires_at)
  SELECT :shard, id, :org, at_micros(:kept_until) FROM made),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued, expires_at)
  SELECT :shard, nextval('object_ids') * 1024 + :shard::smallint, :org, made.id, t.place, t.route, now(), 'waiting', false, at_micros(:expires)
  FROM made, unnest(:places::smallint[], :routes::int[]) AS t(place, route))
SELECT id, micros(now()) AS created FROM made;

-- name: attach
-- Stores a submission's attachments. Answers those whose id was free.
-- One element each per attachment: `:types` are content types, `:sizes` are in bytes, `:uris` are those of the objects.
-- takes: org, shard, submission, ids, names, types, sizes, uris
-- returns: attachment_id text
INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri)
SELECT :org, t.id, :shard, :submission, t.place, t.name, t.type, t.size, t.uri
FROM unnest(:ids::text[], :names::text[], :types::text[], :sizes::bigint[], :uris::text[]) WITH ORDINALITY
  AS t(id, name, type, size, uri, place)
ON CONFLICT DO NOTHING RETURNING attachment_id;

-- name: find_form_submission
-- Reads a submission, and whether what was handed in is the same.
-- `:hash` is the SHA-256 to compare with, or null; then so is `is_same`.
-- takes: shard, org, client_ref, hash
-- returns: {{submission}}
-- returns: is_same flag?, finalized time?, kept_until time
SELECT {{submission}},
       s.payload_hash = :hash AS is_same,
       micros(f.finalized_at) AS finalized,
       micros(f.retention_expires_at) AS kept_until
FROM submissions s JOIN form_submissions f ON f.shard = s.shard AND f.submission_id = s.id
WHERE s.shard = :shard AND s.org_id = :org AND s.kind = 'form' AND s.client_ref = :client_ref;

-- name: lock_form_submission
-- Locks a submission.
-- takes: shard, org, client_ref
-- returns: id number, state text, client_ref text
SELECT id, state, client_ref FROM submissions
WHERE shard = :shard AND org_id = :org AND kind = 'form' AND client_ref = :client_ref FOR UPDATE;

-- name: lock_form_submission_by_id
-- Locks a submission.
-- takes: shard, submission
-- returns: id number, state text, client_ref text, target text
SELECT id, state, client_ref, target FROM submissions WHERE shard = :shard AND id = :submission FOR UPDATE;

-- name: finalize
-- Notes that no more attachments come.
-- takes: shard, submission
UPDATE form_submissions SET finalized_at = coalesce(finalized_at, now()) WHERE shard = :shard AND submission_id = :submission;

-- name: find_attachment
-- Finds the submission of an attachment.
-- takes: org, attachment
-- returns: shard number, submission_id number
SELECT shard, submission_id FROM attachments WHERE org_id = :org AND attachment_id = :attachment;

-- name: scan_result
-- Stores a scanner's result. What was found infected stays infected: then no row is answered.
-- takes: org, attachment, result
-- returns: scan text
UPDATE attachments SET scan = :result, scanned_at = coalesce(CASE WHEN scan = :result THEN scanned_at END, now())
WHERE org_id = :org AND attachment_id = :attachment AND (scan <> 'infected' OR :result = 'infected') RETURNING scan;

-- name: attachments_of
-- Reads a submission's attachments in their order.
-- takes: shard, submission
-- returns: attachment_id text, name text, content_type text, size number, scan text, scanned time?
SELECT attachment_id, name, content_type, size, scan, micros(scanned_at) AS scanned FROM attachments
WHERE shard = :shard AND submission_id = :submission ORDER BY position;

-- name: form_deliveries_of
-- Reads a submission's deliveries, unfinished and ended, in the order of their actions.
-- takes: shard, org, submission
-- returns: {{action_delivery}}, action_type text?, status_field text, ref_field text
SELECT {{action_delivery}},
       d.action_type,
       coalesce(w.status_field, '') AS status_field,
       coalesce(w.ref_field, '') AS ref_field
FROM (
  SELECT r.delivery_id AS id, r.action_order, r.replay, c.contract::jsonb ->> 'actionType' AS action_type, r.status, NULL AS reason,
         r.attempt_count, NULL AS provider_ref, r.progress AS result, r.due_at, NULL::timestamptz AS ended_at
  FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
  WHERE r.shard = :shard AND r.org_id = :org AND r.submission_id = :submission AND r.delivery_id <> r.submission_id
  UNION ALL
  SELECT id, action_order, replay, action_type, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at
  FROM deliveries WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND id <> submission_id) d
LEFT JOIN action_words w ON w.action_type = d.action_type
ORDER BY d.action_order, d.replay;

-- name: form_attempts_of
-- Reads the attempts of a submission's deliveries. What a destination said may name people, so of a purged submission it is left out.
-- takes: shard, org, submission
-- returns: delivery_id number, number number, started time, finished time?, outcome text, reason text, error text, counts flag
-- returns: code number, provider_ref text, maybe_sent flag?
SELECT a.delivery_id,
       a.number,
       micros(a.started_at) AS started,
       micros(a.finished_at) AS finished,
       a.outcome,
       coalesce(a.reason, '') AS reason,
       CASE WHEN s.state = 'purged' THEN '' ELSE coalesce(a.error, '') END AS error,
       a.counts,
       coalesce(a.code, 0) AS code,
       coalesce(a.provider_ref, '') AS provider_ref,
       a.maybe_sent
FROM submissions s, LATERAL (
  SELECT delivery_id AS id FROM ready
  WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND delivery_id <> submission_id
  UNION ALL
  SELECT id FROM deliveries
  WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND id <> submission_id) d
JOIN attempts a ON a.shard = :shard AND a.delivery_id = d.id
WHERE s.shard = :shard AND s.id = :submission
ORDER BY a.delivery_id, a.number, a.started_at;

-- name: audit_of
-- Reads a submission's audit trail. The texts of edits and the names of recipients are with it as long as they are kept: a purge deletes
-- them where they are, and the trail, which cannot change, never had them. Where an action failed before anybody was refused, its
-- destination stands for the names.
-- takes: shard, submission
-- returns: action text, from_state text, to_state text, trigger text, actor text, actor_type text, metadata text, created time
-- returns: edited_field text, before text, after text
SELECT a.action,
       coalesce(a.from_state, '') AS from_state,
       coalesce(a.to_state, '') AS to_state,
       a.trigger,
       a.actor,
       a.actor_type,
       coalesce((coalesce(a.metadata, '{}') || n.names)::text, a.metadata::text, '') AS metadata,
       micros(a.created_at) AS created,
       coalesce(e.field, '') AS edited_field,
       coalesce(e.before, '') AS before,
       coalesce(e.after, '') AS after
FROM audit_log a
LEFT JOIN LATERAL (
  SELECT CASE WHEN n.recipients IS NOT NULL THEN jsonb_build_object('recipients', n.recipients)
              ELSE jsonb_build_object('destination', (c.contract::jsonb ->> 'destination')::jsonb -> 'destination') END AS names
  FROM submissions s
  JOIN deliveries d ON d.shard = s.shard AND d.id = a.delivery_id
  JOIN contract_snapshots c ON c.route_id = d.route_id
  LEFT JOIN deliveries b ON b.shard = d.shard AND b.org_id = d.org_id AND b.submission_id = d.submission_id
    AND b.action_order = d.action_order AND b.replay = d.replay - 1 AND b.id <> b.submission_id
  CROSS JOIN LATERAL ends_of_action(d.status, d.result, b.result) n
  WHERE s.shard = :shard AND s.id = :submission AND s.kind = 'form' AND s.state <> 'purged'
    AND n.is_done = (a.to_state = 'accepted')) n
  ON a.from_state = 'claimed'
LEFT JOIN dead_letter_edits e ON e.shard = a.shard AND e.submission_id = a.submission_id
  AND a.action = 'dead_letter_edited' AND e.id::text = a.metadata ->> 'editId'
WHERE a.shard = :shard AND a.submission_id = :submission ORDER BY a.created_at, a.id;

-- name: forms_in_processing
-- Reads a page of the submissions that have been processing for some time.
-- `:age` is in seconds. The page begins behind the submission `:after_id`, which has been processing since `:after` (microseconds).
-- takes: shard, age, after, after_id, most
-- returns: submission_id number, since time
SELECT submission_id, micros(processing_since) AS since FROM form_submissions
WHERE shard = :shard AND processing_since < now() - :age::bigint * interval '1 second'
  AND (processing_since, submission_id) > (at_micros(:after), :after_id)
ORDER BY processing_since, submission_id LIMIT :most;

-- name: forms_alive
-- Asks whether the session still works.
-- returns: one number
SELECT 1 AS one;

-- name: expired_forms
-- Reads a page of the submissions whose retention has expired.
-- The page begins behind the submission `:after_id`, which expires at `:after` (microseconds).
-- takes: shard, most, after, after_id
-- returns: submission_id number, expires time
SELECT submission_id, micros(retention_expires_at) AS expires FROM form_submissions
WHERE shard = :shard AND purged_at IS NULL AND retention_expires_at <= now()
  AND retention_expires_at >= at_micros(:after) AND (retention_expires_at, submission_id) > (at_micros(:after), :after_id)
ORDER BY retention_expires_at, submission_id LIMIT :most;

-- name: purge_form
-- Purges a submission: deletes what was handed in and what was made of it. The audit trail stays. No row if it is processing.
-- `:state` is the one that it is in; `:action` and `:trigger` are for the audit; `:reason` is for one that has none,
-- and may be null.
-- takes: shard, submission, state, action, trigger, reason
-- returns: id number
WITH moved AS (
  UPDATE submissions SET state = 'purged', reason = coalesce(reason, :reason), body = NULL, completed_at = coalesce(completed_at, now())
  WHERE shard = :shard AND id = :submission AND state IN ('received', 'routed', 'failed') RETURNING id, org_id),
done AS (
  UPDATE form_submissions f SET purged_at = now(), processing_since = NULL FROM moved m
  WHERE f.shard = :shard AND f.submission_id = m.id),
stored AS (DELETE FROM attachments a USING moved m WHERE a.shard = :shard AND a.submission_id = m.id),
edit AS (DELETE FROM dead_letter_edits e USING moved m WHERE e.shard = :shard AND e.submission_id = m.id),
dead AS (DELETE FROM dead_letters l USING moved m WHERE l.shard = :shard AND l.submission_id = m.id),
sent AS (
  UPDATE deliveries d SET result = NULL FROM moved m
  WHERE d.shard = :shard AND d.org_id = m.org_id AND d.submission_id = m.id AND d.id <> d.submission_id RETURNING d.id),
mail AS (DELETE FROM artifacts a USING sent s WHERE a.shard = :shard AND a.delivery_id = s.id),
changed AS (DELETE FROM edited_payloads e USING sent s WHERE e.shard = :shard AND e.delivery_id = s.id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT :shard, id, now(), org_id, :action, :state, 'purged', :trigger, 'waybill', 'system' FROM moved)
SELECT id FROM moved;

-- name: overdue_form
-- Fails a submission that is still processing when its retention has expired, or was finalized and still waits for a scan. No row if it
-- was never finalized. Answers its organisation, the actions that were cancelled for it, and the attachments that nobody has scanned.
-- `:state` is the one that it is in, received or processing; `:action` and `:trigger` are for the audit.
-- takes: shard, submission, state, reason, action, trigger
-- returns: org_id number, cancelled text, unscanned text
WITH moved AS (
  UPDATE submissions s SET state = 'failed', reason = :reason, completed_at = now() FROM form_submissions f
  WHERE s.shard = :shard AND s.id = :submission AND s.state = :state AND s.state IN ('received', 'processing')
    AND f.shard = :shard AND f.submission_id = :submission AND f.finalized_at IS NOT NULL
  RETURNING s.id, s.org_id),
form AS (
  UPDATE form_submissions f SET processing_since = NULL FROM moved m WHERE f.shard = :shard AND f.submission_id = m.id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT :shard, id, now(), org_id, :action, :state, 'failed', :trigger, 'waybill', 'system' FROM moved)
SELECT m.org_id,
       coalesce((
         SELECT string_agg(d.action_order || ' (' || d.action_type || ', attempts: ' || d.attempt_count || ')', ', '
                           ORDER BY d.action_order)
         FROM deliveries d
         WHERE d.shard = :shard AND d.org_id = m.org_id AND d.submission_id = m.id AND d.id <> d.submission_id
           AND d.status = 'cancelled'), '') AS cancelled,
       coalesce((
         SELECT string_agg(a.attachment_id, ', ' ORDER BY a.position) FROM attachments a
         WHERE a.shard = :shard AND a.submission_id = m.id AND a.scan = 'pending' AND :state = 'received'), '') AS unscanned
FROM moved m;
