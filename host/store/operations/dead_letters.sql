-- Dead letters: finding, editing, replaying and cloning them. Used by dead_rows.cpp, dead_store.cpp, dead_replay.cpp and
-- dead_clone.cpp.

-- name: dead_letters
-- Reads a page of an organisation's dead letters, newest first. Null allows any value. It walks an index, and no further than $10 rows; the row
-- where the walk stopped for that is answered as well, marked as such.
-- $1 organisation, $2 client reference, $3 target, $4 reason, $5 not died before that (microseconds), $6 whether replayed ones count as well,
-- $7 and $8 time of death (microseconds) and id behind which the page begins, $9 rows to answer at most, $10 rows to walk at most
SELECT l.id, l.submission_id, l.kind, l.client_ref, l.target, l.action_order, l.action_type, l.reason, micros(l.died_at),
       l.payload IS NOT NULL, l.destination IS NOT NULL, micros(l.replayed_at), coalesce(l.replayed_by, ''),
       coalesce(l.replay_delivery, 0), f.fits, l.place = $10::bigint
FROM (
  SELECT *, row_number() OVER (ORDER BY died_at DESC, id DESC) AS place FROM dead_letters
  WHERE org_id = $1 AND (died_at, id) < (at_micros($7), $8::bigint) AND died_at >= at_micros($5)
  ORDER BY died_at DESC, id DESC LIMIT $10::bigint) l
CROSS JOIN LATERAL (
  SELECT ($2::text IS NULL OR l.client_ref = $2) AND ($3::text IS NULL OR l.target = $3) AND ($4::text IS NULL OR l.reason = $4)
           AND ($6::boolean OR l.replayed_at IS NULL) AS fits) f
WHERE f.fits OR l.place = $10::bigint
ORDER BY l.died_at DESC, l.id DESC LIMIT $9::bigint;

-- name: dead_letters_of_ids
-- Reads those of these dead letters that fit, newest first. OFFSET keeps it to their keys, whatever there is.
-- $1 to $9 as above, $10 ids
SELECT l.id, l.submission_id, l.kind, l.client_ref, l.target, l.action_order, l.action_type, l.reason, micros(l.died_at),
       l.payload IS NOT NULL, l.destination IS NOT NULL, micros(l.replayed_at), coalesce(l.replayed_by, ''),
       coalesce(l.replay_delivery, 0), true, false
FROM unnest($10::bigint[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT * FROM dead_letters d WHERE d.shard = (wanted.id & 1023)::smallint AND d.id = wanted.id OFFSET 0) l
WHERE l.org_id = $1 AND (l.died_at, l.id) < (at_micros($7), $8::bigint) AND l.died_at >= at_micros($5)
  AND ($2::text IS NULL OR l.client_ref = $2) AND ($3::text IS NULL OR l.target = $3) AND ($4::text IS NULL OR l.reason = $4)
  AND ($6::boolean OR l.replayed_at IS NULL)
ORDER BY l.died_at DESC, l.id DESC LIMIT $9::bigint;

-- name: dead_to_be_replayed
-- Lists dead letters in the order in which they are replayed. Null allows any value.
-- $1 organisation, $2 client reference, $3 target, $4 reason, $5 died before and $6 not before, in microseconds; $7 ids, $8 whether
-- replayed ones count as well, $9 rows at most
SELECT l.id
FROM dead_letters l
WHERE l.org_id = $1 AND ($2::text IS NULL OR l.client_ref = $2)
  AND ($3::text IS NULL OR l.target = $3) AND ($4::text IS NULL OR l.reason = $4)
  AND ($5::bigint IS NULL OR l.died_at < at_micros($5)) AND ($6::bigint IS NULL OR l.died_at >= at_micros($6))
  AND ($7::bigint[] IS NULL OR l.id = ANY ($7)) AND ($8 OR l.replayed_at IS NULL)
ORDER BY l.kind NOT IN ('form', 'intent', 'pipeline'), l.died_at, l.id LIMIT $9;

-- name: dead_letter_states
-- Reads dead letters of an organisation with what decides whether they may be edited, replayed or cloned.
-- $1 organisation; per letter: $2 shard, $3 id; $4 whether payload and result are wanted
SELECT l.id, l.submission_id, l.kind, l.client_ref, l.target, l.action_order, l.action_type, l.reason, micros(l.died_at),
       l.payload IS NOT NULL, l.destination IS NOT NULL, micros(l.replayed_at), coalesce(l.replayed_by, ''),
       coalesce(l.replay_delivery, 0),
       s.state, CASE WHEN $4 THEN coalesce(convert_from(coalesce(l.payload, e.body, b.body), 'UTF8'), '') ELSE '' END,
       d.route_id, c.contract, l.destination, CASE WHEN $4 THEN coalesce(d.result::text, '') ELSE '' END,
       EXISTS (SELECT FROM ready r WHERE r.shard = l.shard AND r.org_id = l.org_id AND r.submission_id = l.submission_id
                 AND r.action_order = l.action_order AND r.delivery_id <> r.submission_id),
       EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan = 'infected'),
       NOT EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan <> 'clean'),
       b.body IS NOT NULL,
       EXISTS (SELECT FROM pipeline_submissions p
               JOIN pipeline_steps t ON t.shard = p.shard AND t.submission_id = p.submission_id AND t.step = p.step
               WHERE p.shard = l.shard AND p.org_id = l.org_id AND p.submission_id = l.submission_id AND t.first_action <= l.action_order)
FROM unnest($2::smallint[], $3::bigint[]) WITH ORDINALITY AS t(shard, id, place)
JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = $1
JOIN submission_states s ON s.shard = l.shard AND s.id = l.submission_id
JOIN deliveries d ON d.shard = l.shard AND d.id = l.id
JOIN contract_snapshots c ON c.route_id = d.route_id
JOIN submissions b ON b.shard = l.shard AND b.id = l.submission_id
LEFT JOIN edited_payloads e ON e.shard = l.shard AND e.delivery_id = l.id
ORDER BY t.place;

-- name: lock_submissions_of_dead
-- Locks the submissions of dead letters of an organisation.
-- $1 organisation; per letter: $2 shard, $3 id
SELECT s.id FROM unnest($2::smallint[], $3::bigint[]) AS t(shard, id)
JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = $1
JOIN submissions s ON s.shard = l.shard AND s.id = l.submission_id ORDER BY s.id FOR UPDATE OF s;

-- name: dead_attempts
-- Reads a delivery's attempts.
-- $1 shard, $2 delivery
SELECT number, micros(started_at), micros(finished_at), outcome, coalesce(reason, ''), coalesce(error, ''), counts,
       coalesce(code, 0), coalesce(provider_ref, ''), maybe_sent
FROM attempts WHERE shard = $1 AND delivery_id = $2 ORDER BY number;

-- name: dead_edits
-- Reads a dead letter's edits.
-- $1 shard, $2 submission, $3 dead letter
SELECT id, micros(edited_at), actor, field, before, after FROM dead_letter_edits
WHERE shard = $1 AND submission_id = $2 AND dead_letter_id = $3 ORDER BY id;

-- name: edit_dead
-- Stores an edit, changes the letter and writes the audit. The audit never changes, but what a submission held must go one
-- day: so the audit names the edit and has hashes of what stood there.
-- $1 shard, $2 dead letter, $3 submission, $4 organisation, $5 actor, $6 field: fields or destination; $7 before, $8 after, $9
-- the whole new payload or destination, $10 and $11 SHA-256 of before and after
WITH edit AS (
  INSERT INTO dead_letter_edits (shard, dead_letter_id, submission_id, org_id, actor, field, before, after)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id),
letter AS (
  UPDATE dead_letters SET payload = CASE $6::text WHEN 'fields' THEN convert_to($9, 'UTF8') ELSE payload END,
                          destination = CASE $6::text WHEN 'destination' THEN $9 ELSE destination END
  WHERE shard = $1 AND id = $2)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
SELECT $1, $3, clock_timestamp(), $4, $2, 'dead_letter_edited', 'edit', $5, 'admin',
       jsonb_build_object('editId', id::text, 'field', $6::text, 'beforeSha256', $10::text, 'afterSha256', $11::text)
FROM edit;

-- name: replay_turns
-- Takes turns to send: the first one's time. Turns are a fixed time apart, and as far from the latest one taken before. The
-- row stays locked until the transaction ends, so nobody gets the same ones.
-- $1 organisation, $2 turns, $3 microseconds between two
INSERT INTO replay_turns AS t (org_id, last_at)
VALUES ($1, clock_timestamp() + ($2::bigint - 1) * $3::bigint * interval '1 microsecond')
ON CONFLICT (org_id) DO UPDATE SET last_at = greatest(t.last_at + $3::bigint * interval '1 microsecond', clock_timestamp())
                                             + ($2::bigint - 1) * $3::bigint * interval '1 microsecond'
RETURNING micros(last_at) - ($2::bigint - 1) * $3::bigint;

-- name: replay_dead
-- Makes each dead letter a new delivery. Attempts before it may have been sent, so its plugin searches before it sends; the
-- progress of the old delivery goes along, so that whoever got it does not get it again.
-- Per letter: $1 shard, $2 id, $3 route; $4 time of the first turn and $5 time between two, in microseconds; $6 actor
WITH fact AS MATERIALIZED (
  SELECT t.*, nextval('object_ids') * 1024 + t.shard AS delivery,
         at_micros($4::bigint + (t.place - 1) * $5::bigint) AS due
  FROM unnest($1::smallint[], $2::bigint[], $3::int[]) WITH ORDINALITY AS t(shard, letter, route, place)),
more AS MATERIALIZED (
  SELECT f.*, l.org_id, l.submission_id, l.action_order, l.reason, l.kind, s.state, d.result::text AS progress,
         coalesce(l.payload, e.body) AS body,
         (SELECT coalesce(max(o.replay), 0) + 1 FROM deliveries o WHERE o.shard = f.shard AND o.org_id = l.org_id
            AND o.submission_id = l.submission_id AND o.id <> o.submission_id AND o.action_order = l.action_order) AS replay
  FROM fact f
  JOIN dead_letters l ON l.shard = f.shard AND l.id = f.letter
  JOIN submission_states s ON s.shard = f.shard AND s.id = l.submission_id
  JOIN deliveries d ON d.shard = f.shard AND d.id = f.letter
  LEFT JOIN edited_payloads e ON e.shard = f.shard AND e.delivery_id = f.letter),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, replay, route_id, due_at, status, maybe_sent,
                     progress, edited)
  SELECT shard, delivery, org_id, submission_id, action_order, replay, route, due, 'due', true, progress, body IS NOT NULL FROM more),
body AS (
  INSERT INTO edited_payloads (shard, delivery_id, org_id, body)
  SELECT shard, delivery, org_id, body FROM more WHERE body IS NOT NULL),
moved AS (
  UPDATE submissions s SET state = 'processing', reason = NULL, completed_at = NULL
  FROM (SELECT DISTINCT shard, submission_id FROM more WHERE kind = 'form') m
  WHERE s.shard = m.shard AND s.id = m.submission_id AND s.state = 'failed' RETURNING s.shard, s.id),
begun AS (
  UPDATE form_submissions f SET processing_since = now() FROM moved m WHERE f.shard = m.shard AND f.submission_id = m.id),
unblocked AS (
  UPDATE pipeline_submissions p SET blocked_at = NULL FROM more m
  WHERE m.kind = 'pipeline' AND p.shard = m.shard AND p.submission_id = m.submission_id),
marked AS (
  UPDATE dead_letters l SET replayed_at = now(), replayed_by = $6, replay_delivery = m.delivery
  FROM more m WHERE l.shard = m.shard AND l.id = m.letter),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                         metadata)
  SELECT shard, submission_id, clock_timestamp(), org_id, delivery, 'dead_letter_replayed', state,
         CASE kind WHEN 'form' THEN 'processing' WHEN 'pipeline' THEN state ELSE 'pending' END, 'replay', $6, 'admin',
         jsonb_build_object('deadLetterId', letter::text, 'actionOrder', action_order, 'reason', reason, 'replay', replay)
  FROM more)
SELECT delivery, micros(due) FROM more ORDER BY place;

-- name: clone_submission
-- Stores a copy of a submission under another reference. Kind, pipeline and target are those of the old one. No row if the
-- reference is taken.
-- $1 shard, $2 organisation, $3 client reference, $4 state, $5 SHA-256 of the payload, $6 shard and $7 id of the old
-- submission, $8 payload; per action: $9 place, $10 route; $11 status of the deliveries: waiting or due
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, kind, $3, pipeline, target, $4, $5, now(), convert_to($8, 'UTF8')
  FROM submissions WHERE shard = $6 AND id = $7
  ON CONFLICT DO NOTHING RETURNING id),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued)
  SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, made.id, t.place, t.route, now(), $11::delivery_status, $11 = 'due'
  FROM made, unnest($9::smallint[], $10::int[]) AS t(place, route))
SELECT id FROM made;

-- name: clone_form_submission
-- Stores what a form's submission has beside its row. Its retention is the old one's, and so are the objects and the scanner's
-- results. False if an attachment's new id is taken.
-- $1 shard, $2 submission, $3 client reference, $4 shard and $5 id of the old submission
WITH form AS (
  INSERT INTO form_submissions (shard, submission_id, org_id, finalized_at, retention_expires_at)
  SELECT $1, $2, org_id, now(), retention_expires_at FROM form_submissions WHERE shard = $4 AND submission_id = $5),
attached AS (
  INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri, scan, scanned_at)
  SELECT org_id, attachment_id || '~' || $3::text, $1, $2, position, name, content_type, size, object_uri, scan, scanned_at
  FROM attachments WHERE shard = $4 AND submission_id = $5
  ON CONFLICT DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM attached) = (SELECT count(*) FROM attachments WHERE shard = $4 AND submission_id = $5);

-- name: audit_clone
-- Writes the audit of a clone.
-- $1 shard, $2 the old submission, $3 organisation, $4 dead letter, $5 actor, $6 the new reference
INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
VALUES ($1, $2, clock_timestamp(), $3, $4, 'dead_letter_cloned', 'clone', $5, 'admin',
        jsonb_build_object('deadLetterId', $4::bigint::text, 'reference', $6::text));
