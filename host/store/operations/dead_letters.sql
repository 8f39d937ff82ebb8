-- Dead letters: finding, editing, replaying and cloning them. Used by dead_rows.cpp, dead_store.cpp, dead_replay.cpp and
-- dead_clone.cpp.

-- part: letter
-- What is read of a dead letter `l`.
-- returns: id number, submission_id number, kind text, client_ref text, target text, action_order number, action_type text
-- returns: reason text, died time, fields_edited flag, destination_edited flag, replayed time?, replayed_by text, replay number
l.id,
       l.submission_id,
       l.kind,
       l.client_ref,
       l.target,
       l.action_order,
       l.action_type,
       l.reason,
       micros(l.died_at) AS died,
       l.payload IS NOT NULL AS fields_edited,
       l.destination IS NOT NULL AS destination_edited,
       micros(l.replayed_at) AS replayed,
       coalesce(l.replayed_by, '') AS replayed_by,
       coalesce(l.replay_delivery, 0) AS replay

-- name: dead_letters
-- Reads a page of an organisation's dead letters, newest first. Null allows any value. It walks an index, and no further than
-- `:max_walked` rows; the row where the walk stopped for that is answered as well, marked as such. A letter died at `:since`
-- (microseconds) or later; one that was replayed is answered only if `:replayed`. The page begins behind a time of death,
-- `:behind_at` (microseconds), and an id, and has `:most` rows at most.
-- takes: org, reference, target, reason, since, replayed, behind_at, behind_id, most, max_walked
-- returns: {{letter}}, fits flag, walk_stopped flag
SELECT {{letter}},
       f.fits,
       l.place = :max_walked::bigint AS walk_stopped
FROM (
  SELECT *, row_number() OVER (ORDER BY died_at DESC, id DESC) AS place FROM dead_letters
  WHERE org_id = :org AND (died_at, id) < (at_micros(:behind_at), :behind_id::bigint) AND died_at >= at_micros(:since)
  ORDER BY died_at DESC, id DESC LIMIT :max_walked::bigint) l
CROSS JOIN LATERAL (
  SELECT (:reference::text IS NULL OR l.client_ref = :reference) AND (:target::text IS NULL OR l.target = :target)
           AND (:reason::text IS NULL OR l.reason = :reason) AND (:replayed::boolean OR l.replayed_at IS NULL) AS fits) f
WHERE f.fits OR l.place = :max_walked::bigint
ORDER BY l.died_at DESC, l.id DESC LIMIT :most::bigint;

-- name: dead_letters_of_ids
-- Reads those of these dead letters that fit, newest first. OFFSET keeps it to their keys, whatever there is. The rest is as
-- above.
-- takes: org, reference, target, reason, since, replayed, behind_at, behind_id, most, ids
-- returns: {{letter}}, fits flag, walk_stopped flag
SELECT {{letter}},
       true AS fits,
       false AS walk_stopped
FROM unnest(:ids::bigint[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT * FROM dead_letters d WHERE d.shard = (wanted.id & 1023)::smallint AND d.id = wanted.id OFFSET 0) l
WHERE l.org_id = :org AND (l.died_at, l.id) < (at_micros(:behind_at), :behind_id::bigint) AND l.died_at >= at_micros(:since)
  AND (:reference::text IS NULL OR l.client_ref = :reference) AND (:target::text IS NULL OR l.target = :target)
  AND (:reason::text IS NULL OR l.reason = :reason) AND (:replayed::boolean OR l.replayed_at IS NULL)
ORDER BY l.died_at DESC, l.id DESC LIMIT :most::bigint;

-- name: dead_to_be_replayed
-- Lists dead letters in the order in which they are replayed. Null allows any value. A letter died at `:since` or later and
-- before `:before`, both in microseconds; one that was replayed is listed only if `:replayed`. There are `:most` rows at most.
-- takes: org, reference, target, reason, before, since, ids, replayed, most
-- returns: id number
SELECT l.id
FROM dead_letters l
WHERE l.org_id = :org AND (:reference::text IS NULL OR l.client_ref = :reference)
  AND (:target::text IS NULL OR l.target = :target) AND (:reason::text IS NULL OR l.reason = :reason)
  AND (:before::bigint IS NULL OR l.died_at < at_micros(:before)) AND (:since::bigint IS NULL OR l.died_at >= at_micros(:since))
  AND (:ids::bigint[] IS NULL OR l.id = ANY (:ids)) AND (:replayed OR l.replayed_at IS NULL)
ORDER BY l.kind NOT IN ('form', 'intent', 'pipeline'), l.died_at, l.id LIMIT :most;

-- name: dead_letter_states
-- Reads dead letters of an organisation with what decides whether they may be edited, replayed or cloned. `:shards` and `:ids`
-- have one element each per letter; `:payloads` says whether payload and result are wanted.
-- takes: org, shards, ids, payloads
-- returns: {{letter}}, state text, payload text, route_id number, contract text, destination text?, result text
-- returns: unfinished flag, infected flag, clean flag, kept flag, present_stage flag
SELECT {{letter}},
       s.state,
       CASE WHEN :payloads THEN coalesce(convert_from(coalesce(l.payload, e.body, b.body), 'UTF8'), '') ELSE '' END AS payload,
       d.route_id,
       c.contract,
       l.destination,
       CASE WHEN :payloads THEN coalesce(d.result::text, '') ELSE '' END AS result,
       EXISTS (SELECT FROM ready r WHERE r.shard = l.shard AND r.org_id = l.org_id AND r.submission_id = l.submission_id
                 AND r.action_order = l.action_order AND r.delivery_id <> r.submission_id) AS unfinished,
       EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan = 'infected')
         AS infected,
       NOT EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan <> 'clean')
         AS clean,
       b.body IS NOT NULL AS kept,
       EXISTS (SELECT FROM pipeline_submissions p
               JOIN pipeline_steps t ON t.shard = p.shard AND t.submission_id = p.submission_id AND t.step = p.step
               WHERE p.shard = l.shard AND p.org_id = l.org_id AND p.submission_id = l.submission_id AND t.first_action <= l.action_order)
         AS present_stage
FROM unnest(:shards::smallint[], :ids::bigint[]) WITH ORDINALITY AS t(shard, id, place)
JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = :org
JOIN submission_states s ON s.shard = l.shard AND s.id = l.submission_id
JOIN deliveries d ON d.shard = l.shard AND d.id = l.id
JOIN contract_snapshots c ON c.route_id = d.route_id
JOIN submissions b ON b.shard = l.shard AND b.id = l.submission_id
LEFT JOIN edited_payloads e ON e.shard = l.shard AND e.delivery_id = l.id
ORDER BY t.place;

-- name: lock_submissions_of_dead
-- Locks the submissions of dead letters of an organisation. `:shards` and `:ids` have one element each per letter.
-- takes: org, shards, ids
-- returns: id number
SELECT s.id FROM unnest(:shards::smallint[], :ids::bigint[]) AS t(shard, id)
JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = :org
JOIN submissions s ON s.shard = l.shard AND s.id = l.submission_id ORDER BY s.id FOR UPDATE OF s;

-- name: dead_attempts
-- Reads a delivery's attempts.
-- takes: shard, delivery
-- returns: {{attempt}}
SELECT {{attempt}}
FROM attempts a WHERE shard = :shard AND delivery_id = :delivery ORDER BY number;

-- name: dead_edits
-- Reads a dead letter's edits.
-- takes: shard, submission, letter
-- returns: id number, edited time, actor text, field text, before text, after text
SELECT id, micros(edited_at) AS edited, actor, field, before, after FROM dead_letter_edits
WHERE shard = :shard AND submission_id = :submission AND dead_letter_id = :letter ORDER BY id;

-- name: edit_dead
-- Stores an edit, changes the letter and writes the audit. The audit never changes, but what a submission held must go one
-- day: so the audit names the edit and has hashes of what stood there. `:field` is fields or destination, `:whole` the whole new
-- payload or destination.
-- takes: shard, letter, submission, org, actor, field, before, after, whole, before_sha256, after_sha256
WITH edit AS (
  INSERT INTO dead_letter_edits (shard, dead_letter_id, submission_id, org_id, actor, field, before, after)
  VALUES (:shard, :letter, :submission, :org, :actor, :field, :before, :after) RETURNING id),
letter AS (
  UPDATE dead_letters SET payload = CASE :field::text WHEN 'fields' THEN convert_to(:whole, 'UTF8') ELSE payload END,
                          destination = CASE :field::text WHEN 'destination' THEN :whole ELSE destination END
  WHERE shard = :shard AND id = :letter)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
SELECT :shard, :submission, clock_timestamp(), :org, :letter, 'dead_letter_edited', 'edit', :actor, 'admin',
       jsonb_build_object('editId', id::text, 'field', :field::text, 'beforeSha256', :before_sha256::text,
                          'afterSha256', :after_sha256::text)
FROM edit;

-- name: replay_turns
-- Takes turns to send: the first one's time. Turns are a fixed time apart, and as far from the latest one taken before. The
-- row stays locked until the transaction ends, so nobody gets the same ones. `:gap` is between two, in microseconds.
-- takes: org, turns, gap
-- returns: first_turn time
INSERT INTO replay_turns AS t (org_id, last_at)
VALUES (:org, clock_timestamp() + (:turns::bigint - 1) * :gap::bigint * interval '1 microsecond')
ON CONFLICT (org_id) DO UPDATE SET last_at = greatest(t.last_at + :gap::bigint * interval '1 microsecond', clock_timestamp())
                                             + (:turns::bigint - 1) * :gap::bigint * interval '1 microsecond'
RETURNING micros(last_at) - (:turns::bigint - 1) * :gap::bigint AS first_turn;

-- name: replay_dead
-- Makes each dead letter a new delivery. Attempts before it may have been sent, so its plugin searches before it sends; the
-- progress of the old delivery goes along, so that whoever got it does not get it again. `:shards`, `:letters` and `:routes` have
-- one element each per letter. `:first_turn` and the `:gap` between two turns are in microseconds.
-- takes: shards, letters, routes, first_turn, gap, actor
-- returns: delivery number, due time
WITH fact AS MATERIALIZED (
  SELECT t.*, nextval('object_ids') * 1024 + t.shard AS delivery,
         at_micros(:first_turn::bigint + (t.place - 1) * :gap::bigint) AS due
  FROM unnest(:shards::smallint[], :letters::bigint[], :routes::int[]) WITH ORDINALITY AS t(shard, letter, route, place)),
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
  UPDATE dead_letters l SET replayed_at = now(), replayed_by = :actor, replay_delivery = m.delivery
  FROM more m WHERE l.shard = m.shard AND l.id = m.letter),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                         metadata)
  SELECT shard, submission_id, clock_timestamp(), org_id, delivery, 'dead_letter_replayed', state,
         CASE kind WHEN 'form' THEN 'processing' WHEN 'pipeline' THEN state ELSE 'pending' END, 'replay', :actor, 'admin',
         jsonb_build_object('deadLetterId', letter::text, 'actionOrder', action_order, 'reason', reason, 'replay', replay)
  FROM more)
SELECT delivery, micros(due) AS due FROM more ORDER BY place;

-- name: clone_submission
-- Stores a copy of a submission under another reference. Kind, pipeline and target are those of the old one. No row if the
-- reference is taken. `:places` and `:routes` have one element each per action. `:status` is the deliveries': waiting or due.
-- takes: shard, org, reference, state, payload_sha256, old_shard, old_submission, payload, places, routes, status
-- returns: id number
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT :shard, nextval('object_ids') * 1024 + :shard::smallint, :org, kind, :reference, pipeline, target, :state, :payload_sha256,
         now(), convert_to(:payload, 'UTF8')
  FROM submissions WHERE shard = :old_shard AND id = :old_submission
  ON CONFLICT DO NOTHING RETURNING id),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued)
  SELECT :shard, nextval('object_ids') * 1024 + :shard::smallint, :org, made.id, t.place, t.route, now(),
         :status::delivery_status, :status = 'due'
  FROM made, unnest(:places::smallint[], :routes::int[]) AS t(place, route))
SELECT id FROM made;

-- name: clone_form_submission
-- Stores what a form's submission has beside its row. Its retention is the old one's, and so are the objects and the scanner's
-- results. False if an attachment's new id is taken.
-- takes: shard, submission, reference, old_shard, old_submission
-- returns: all_attached flag
WITH form AS (
  INSERT INTO form_submissions (shard, submission_id, org_id, finalized_at, retention_expires_at)
  SELECT :shard, :submission, org_id, now(), retention_expires_at
  FROM form_submissions WHERE shard = :old_shard AND submission_id = :old_submission),
attached AS (
  INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri, scan, scanned_at)
  SELECT org_id, attachment_id || '~' || :reference::text, :shard, :submission, position, name, content_type, size, object_uri,
         scan, scanned_at
  FROM attachments WHERE shard = :old_shard AND submission_id = :old_submission
  ON CONFLICT DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM attached)
       = (SELECT count(*) FROM attachments WHERE shard = :old_shard AND submission_id = :old_submission) AS all_attached;

-- name: audit_clone
-- Writes the audit of a clone. `:reference` is the new one.
-- takes: shard, old_submission, org, letter, actor, reference
INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
VALUES (:shard, :old_submission, clock_timestamp(), :org, :letter, 'dead_letter_cloned', 'clone', :actor, 'admin',
        jsonb_build_object('deadLetterId', :letter::bigint::text, 'reference', :reference::text));
