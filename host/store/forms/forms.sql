-- Submissions of forms on their way in, what their API reads, sweeping and purging. Used by form_submit.cpp, form_read.cpp and
-- form_store.cpp.

-- name: now
-- Answers the server's clock.
SELECT micros(now());

-- name: submit_form
-- Stores a submission with its deliveries, which wait. No row if its key is taken.
-- $1 shard, $2 organisation, $3 client reference, $4 form, $5 SHA-256 of what was handed in, $6 payload, $7 end of its
-- retention in microseconds; per action: $8 its place, $9 its route
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  VALUES ($1, nextval('object_ids') * 1024 + $1::smallint, $2, 'form', $3, 'form', $4, 'received', $5, now(), convert_to($6, 'UTF8'))
  ON CONFLICT DO NOTHING RETURNING id),
more AS (
  INSERT INTO form_submissions (shard, submission_id, org_id, retention_expires_at) SELECT $1, id, $2, at_micros($7) FROM made),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued)
  SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, made.id, t.place, t.route, now(), 'waiting', false
  FROM made, unnest($8::smallint[], $9::int[]) AS t(place, route))
SELECT id, micros(now()) FROM made;

-- name: attach
-- Stores a submission's attachments. Answers those whose id was free.
-- $1 organisation, $2 shard, $3 submission
-- Per attachment: $4 id, $5 name, $6 content type, $7 size in bytes, $8 URI of the object
INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri)
SELECT $1, t.id, $2, $3, t.place, t.name, t.type, t.size, t.uri
FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[]) WITH ORDINALITY AS t(id, name, type, size, uri, place)
ON CONFLICT DO NOTHING RETURNING attachment_id;

-- name: find_form_submission
-- Reads a submission, and whether what was handed in is the same.
-- $1 shard, $2 organisation, $3 client reference, $4 SHA-256 to compare with
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       s.payload_hash = $4, micros(f.finalized_at), micros(f.retention_expires_at)
FROM submissions s JOIN form_submissions f ON f.shard = s.shard AND f.submission_id = s.id
WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = 'form' AND s.client_ref = $3;

-- name: lock_form_submission
-- Locks a submission.
-- $1 shard, $2 organisation, $3 client reference
SELECT id, state, client_ref FROM submissions WHERE shard = $1 AND org_id = $2 AND kind = 'form' AND client_ref = $3 FOR UPDATE;

-- name: lock_form_submission_by_id
-- Locks a submission.
-- $1 shard, $2 submission
SELECT id, state, client_ref, target FROM submissions WHERE shard = $1 AND id = $2 FOR UPDATE;

-- name: finalize
-- Notes that no more attachments come.
-- $1 shard, $2 submission
UPDATE form_submissions SET finalized_at = coalesce(finalized_at, now()) WHERE shard = $1 AND submission_id = $2;

-- name: find_attachment
-- Finds the submission of an attachment.
-- $1 organisation, $2 attachment
SELECT shard, submission_id FROM attachments WHERE org_id = $1 AND attachment_id = $2;

-- name: scan_result
-- Stores a scanner's result. What was found infected stays infected: then no row is answered.
-- $1 organisation, $2 attachment, $3 result
UPDATE attachments SET scan = $3, scanned_at = coalesce(CASE WHEN scan = $3 THEN scanned_at END, now())
WHERE org_id = $1 AND attachment_id = $2 AND (scan <> 'infected' OR $3 = 'infected') RETURNING scan;

-- name: attachments_of
-- Reads a submission's attachments in their order.
-- $1 shard, $2 submission
SELECT attachment_id, name, content_type, size, scan, micros(scanned_at) FROM attachments
WHERE shard = $1 AND submission_id = $2 ORDER BY position;

-- name: form_deliveries_of
-- Reads a submission's deliveries, unfinished and ended, in the order of their actions.
-- $1 shard, $2 organisation, $3 submission
SELECT d.id, d.action_order, d.replay, d.action_type, d.status, coalesce(d.reason, ''), d.attempt_count, coalesce(d.provider_ref, ''),
       coalesce(d.result, ''), micros(d.due_at), micros(d.ended_at), coalesce(w.status_field, ''), coalesce(w.ref_field, '')
FROM (
  SELECT r.delivery_id AS id, r.action_order, r.replay, c.contract::jsonb ->> 'actionType' AS action_type, r.status, NULL AS reason,
         r.attempt_count, NULL AS provider_ref, r.progress AS result, r.due_at, NULL::timestamptz AS ended_at
  FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
  WHERE r.shard = $1 AND r.org_id = $2 AND r.submission_id = $3 AND r.delivery_id <> r.submission_id
  UNION ALL
  SELECT id, action_order, replay, action_type, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at
  FROM deliveries WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND id <> submission_id) d
LEFT JOIN action_words w ON w.action_type = d.action_type
ORDER BY d.action_order, d.replay;

-- name: form_attempts_of
-- Reads the attempts of a submission's deliveries. What a destination said may name people, so of a purged submission it is left out.
-- $1 shard, $2 organisation, $3 submission
SELECT a.delivery_id, a.number, micros(a.started_at), micros(a.finished_at), a.outcome, coalesce(a.reason, ''),
       CASE WHEN s.state = 'purged' THEN '' ELSE coalesce(a.error, '') END, a.counts, coalesce(a.code, 0), coalesce(a.provider_ref, ''),
       a.maybe_sent
FROM submissions s, LATERAL (
  SELECT delivery_id AS id FROM ready
  WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND delivery_id <> submission_id
  UNION ALL
  SELECT id FROM deliveries
  WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND id <> submission_id) d
JOIN attempts a ON a.shard = $1 AND a.delivery_id = d.id
WHERE s.shard = $1 AND s.id = $3
ORDER BY a.delivery_id, a.number, a.started_at;

-- name: audit_of
-- Reads a submission's audit trail. The texts of edits and the names of recipients are with it as long as they are kept: a purge deletes
-- them where they are, and the trail, which cannot change, never had them. Where an action failed before anybody was refused, its
-- destination stands for the names.
-- $1 shard, $2 submission
SELECT a.action, coalesce(a.from_state, ''), coalesce(a.to_state, ''), a.trigger, a.actor, a.actor_type,
       coalesce((coalesce(a.metadata, '{}') || n.names)::text, a.metadata::text, ''),
       micros(a.created_at), coalesce(e.field, ''), coalesce(e.before, ''), coalesce(e.after, '')
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
  WHERE s.shard = $1 AND s.id = $2 AND s.kind = 'form' AND s.state <> 'purged' AND n.is_done = (a.to_state = 'accepted')) n
  ON a.from_state = 'claimed'
LEFT JOIN dead_letter_edits e ON e.shard = a.shard AND e.submission_id = a.submission_id
  AND a.action = 'dead_letter_edited' AND e.id::text = a.metadata ->> 'editId'
WHERE a.shard = $1 AND a.submission_id = $2 ORDER BY a.created_at, a.id;

-- name: forms_in_processing
-- Reads a page of the submissions that have been processing for some time.
-- $1 shard, $2 seconds, $3 and $4 since when (microseconds) and which submission the page begins behind, $5 rows at most
SELECT submission_id, micros(processing_since) FROM form_submissions
WHERE shard = $1 AND processing_since < now() - $2::bigint * interval '1 second'
  AND (processing_since, submission_id) > (at_micros($3), $4)
ORDER BY processing_since, submission_id LIMIT $5;

-- name: forms_alive
-- Asks whether the session still works.
SELECT 1;

-- name: expired_forms
-- Reads a page of the submissions whose retention has expired.
-- $1 shard, $2 rows at most, $3 and $4 expiry (microseconds) and submission behind which the page begins
SELECT submission_id, micros(retention_expires_at) FROM form_submissions
WHERE shard = $1 AND purged_at IS NULL AND retention_expires_at <= now()
  AND retention_expires_at >= at_micros($3) AND (retention_expires_at, submission_id) > (at_micros($3), $4)
ORDER BY retention_expires_at, submission_id LIMIT $2;

-- name: purge_form
-- Purges a submission: deletes what was handed in and what was made of it. The audit trail stays. No row if it is processing.
-- $1 shard, $2 submission, $3 the state that it is in; for the audit: $4 action, $5 trigger; $6 reason, if the submission has none, may be null
WITH moved AS (
  UPDATE submissions SET state = 'purged', reason = coalesce(reason, $6), body = NULL, completed_at = coalesce(completed_at, now())
  WHERE shard = $1 AND id = $2 AND state IN ('received', 'routed', 'failed') RETURNING id, org_id),
done AS (
  UPDATE form_submissions f SET purged_at = now(), processing_since = NULL FROM moved m WHERE f.shard = $1 AND f.submission_id = m.id),
stored AS (DELETE FROM attachments a USING moved m WHERE a.shard = $1 AND a.submission_id = m.id),
edit AS (DELETE FROM dead_letter_edits e USING moved m WHERE e.shard = $1 AND e.submission_id = m.id),
dead AS (DELETE FROM dead_letters l USING moved m WHERE l.shard = $1 AND l.submission_id = m.id),
sent AS (
  UPDATE deliveries d SET result = NULL FROM moved m WHERE d.shard = $1 AND d.org_id = m.org_id AND d.submission_id = m.id
                                                   AND d.id <> d.submission_id RETURNING d.id),
mail AS (DELETE FROM artifacts a USING sent s WHERE a.shard = $1 AND a.delivery_id = s.id),
changed AS (DELETE FROM edited_payloads e USING sent s WHERE e.shard = $1 AND e.delivery_id = s.id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT $1, id, now(), org_id, $4, $3, 'purged', $5, 'waybill', 'system' FROM moved)
SELECT id FROM moved;

-- name: overdue_form
-- Fails a submission that is still processing when its retention has expired, or was finalized and still waits for a scan. No row if it
-- was never finalized. Answers its organisation, the actions that were cancelled for it, and the attachments that nobody has scanned.
-- $1 shard, $2 submission, $3 the state that it is in, received or processing; $4 reason; for the audit: $5 action, $6 trigger
WITH moved AS (
  UPDATE submissions s SET state = 'failed', reason = $4, completed_at = now() FROM form_submissions f
  WHERE s.shard = $1 AND s.id = $2 AND s.state = $3 AND s.state IN ('received', 'processing')
    AND f.shard = $1 AND f.submission_id = $2 AND f.finalized_at IS NOT NULL
  RETURNING s.id, s.org_id),
form AS (UPDATE form_submissions f SET processing_since = NULL FROM moved m WHERE f.shard = $1 AND f.submission_id = m.id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT $1, id, now(), org_id, $5, $3, 'failed', $6, 'waybill', 'system' FROM moved)
SELECT m.org_id, coalesce((
  SELECT string_agg(d.action_order || ' (' || d.action_type || ', attempts: ' || d.attempt_count || ')', ', ' ORDER BY d.action_order)
  FROM deliveries d
  WHERE d.shard = $1 AND d.org_id = m.org_id AND d.submission_id = m.id AND d.id <> d.submission_id AND d.status = 'cancelled'), ''),
  coalesce((
  SELECT string_agg(a.attachment_id, ', ' ORDER BY a.position) FROM attachments a
  WHERE a.shard = $1 AND a.submission_id = m.id AND a.scan = 'pending' AND $3 = 'received'), '')
FROM moved m;
