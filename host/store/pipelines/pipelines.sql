-- Submissions that walk pipelines: handing them in, the moves from state to state, reading them. Used by pipeline_rows.cpp,
-- pipeline_versions.cpp and pipeline_store.cpp.

-- name: find_pipeline_version
-- Finds a version by its content.
-- $1 SHA-256 of the definition
SELECT version_id, number FROM pipeline_versions WHERE hash = $1;

-- name: make_pipeline_version
-- Stores a version. Two hosts may do so at once: then no row may be stored, and it is done again.
-- $1 pipeline, $2 SHA-256 of the definition, $3 definition
INSERT INTO pipeline_versions (pipeline, number, hash, definition)
SELECT $1, coalesce(max(number), 0) + 1, $2, $3 FROM pipeline_versions WHERE pipeline = $1
ON CONFLICT DO NOTHING;

-- name: make_pipeline_moves
-- Stores the moves that a pipeline's submissions may make.
-- $1 pipeline; per move: $2 from, $3 to
INSERT INTO pipeline_moves (pipeline, from_state, to_state)
SELECT DISTINCT $1, t.a, t.b FROM unnest($2::text[], $3::text[]) AS t(a, b) WHERE t.a <> t.b ON CONFLICT DO NOTHING;

-- name: read_pipeline_version
-- Reads a version.
-- $1 version
SELECT number, definition FROM pipeline_versions WHERE version_id = $1;

-- name: submit_pipeline
-- Stores a submission in its first state. No row if its key is taken, or a form's or an archived submission has its id.
-- $1 shard, $2 organisation, $3 client reference, $4 pipeline, $5 first state, $6 SHA-256 of what was handed in, $7 payload, $8
-- version, $9 routes, $10 metadata, $11 reference, $12 the submission that started it, $13 trigger of the audit, $14 actor and
-- $15 its type, $16 actions that the state runs
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT $1::smallint, nextval('object_ids') * 1024 + $1::smallint, $2, 'pipeline', $3, $4, $4, $5, $6, clock_timestamp(),
         convert_to($7, 'UTF8')
  WHERE NOT EXISTS (SELECT FROM submissions WHERE shard = $1 AND org_id = $2 AND kind = 'form' AND client_ref = $3)
    AND NOT EXISTS (SELECT FROM archived_submissions WHERE org_id = $2 AND client_ref = $3)
  ON CONFLICT DO NOTHING RETURNING id, created_at),
walks AS (
  INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, reference, parent,
                                    created_at)
  SELECT $1::smallint, id, $2, $8, $4, $5, 1, $9::int[], $10, $11, $12, created_at FROM made),
stepped AS (
  INSERT INTO pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action)
  SELECT $1::smallint, id, 1, $2, $4, $5, created_at, $16::smallint[], 1 FROM made),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, to_state, trigger, actor, actor_type, metadata)
  SELECT $1::smallint, id, created_at, $2, 'state_changed', $5, $13, $14, $15, '{}' FROM made)
SELECT id, micros(created_at) FROM made;

-- name: find_pipeline_submission
-- Reads a submission, and whether what was handed in is the same.
-- $1 shard, $2 organisation, $3 client reference, $4 SHA-256 to compare with
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       s.payload_hash = $4, v.number, p.metadata, convert_from(s.body, 'UTF8'), micros(p.blocked_at), micros(p.ended_at)
FROM submissions s
JOIN pipeline_submissions p ON p.shard = s.shard AND p.submission_id = s.id
JOIN pipeline_versions v ON v.version_id = p.version_id
WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = 'pipeline' AND s.client_ref = $3;

-- name: who_has_pipeline_id
-- Tells whether an id that is taken is an archived submission's; else it is a form's.
-- $1 organisation, $2 client reference
SELECT EXISTS (SELECT FROM archived_submissions WHERE org_id = $1 AND client_ref = $2);

-- name: lock_pipeline_submission
-- Locks a submission, unless somebody else holds it.
-- $1 shard, $2 organisation, $3 client reference
SELECT id, state FROM submissions WHERE shard = $1 AND org_id = $2 AND kind = 'pipeline' AND client_ref = $3 FOR UPDATE NOWAIT;

-- name: lock_walking
-- Locks submissions that walk a pipeline.
-- $1 shard, $2 submissions
SELECT id FROM submissions WHERE shard = $1 AND id = ANY ($2::bigint[]) AND kind = 'pipeline' ORDER BY id FOR UPDATE;

-- name: walking
-- Reads where submissions are.
-- $1 shard, $2 submissions
SELECT p.submission_id, p.org_id, p.version_id, p.state, p.step, p.next_action, p.routes::text, p.metadata, s.client_ref,
       convert_from(s.body, 'UTF8'), micros(s.created_at), micros(clock_timestamp()), p.blocked_at IS NOT NULL
FROM pipeline_submissions p JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
WHERE p.shard = $1 AND p.submission_id = ANY ($2::bigint[]) ORDER BY p.submission_id;

-- name: pipeline_runs
-- Reads the actions that each step of submissions runs, with the latest delivery of each, or what an operator gave it. A delivery that
-- failed has the reason of its last attempt as well, which can be the service's own word.
-- $1 shard, $2 submissions
SELECT st.submission_id, st.step, st.state, a.action, CASE WHEN g.is_done THEN 'accepted' ELSE d.status::text END,
       CASE WHEN g.is_done THEN g.result ELSE d.result END, coalesce(d.reason, ''), micros(st.entered_at),
       coalesce(d.attempt_count, 0), st.first_action,
       coalesce(CASE WHEN d.status IN ('rejected', 'exhausted') THEN (
         SELECT coalesce(nullif(t.reason, ''), split_part(t.error, ': ', 1)) FROM attempts t
         WHERE t.shard = $1 AND t.delivery_id = d.id ORDER BY t.number DESC LIMIT 1) END, ''), g.input
FROM pipeline_steps st
LEFT JOIN LATERAL unnest(st.actions) WITH ORDINALITY AS a(action, place) ON true
LEFT JOIN pipeline_given g ON g.shard = $1 AND g.submission_id = st.submission_id AND g.step = st.step AND g.place = a.place
LEFT JOIN LATERAL (
  SELECT x.id, x.status, x.result, x.reason, x.attempt_count FROM (
    SELECT r.delivery_id AS id, r.status, NULL::text AS result, NULL AS reason, r.replay, r.attempt_count FROM ready r
    WHERE r.shard = $1 AND r.org_id = st.org_id AND r.submission_id = st.submission_id AND r.delivery_id <> r.submission_id
      AND r.action_order = st.first_action + a.place - 1
    UNION ALL
    SELECT e.id, e.status, e.result::text, e.reason, e.replay, e.attempt_count FROM deliveries e
    WHERE e.shard = $1 AND e.org_id = st.org_id AND e.submission_id = st.submission_id AND e.id <> e.submission_id
      AND e.action_order = st.first_action + a.place - 1) x
  ORDER BY x.replay DESC LIMIT 1) d ON true
WHERE st.shard = $1 AND st.submission_id = ANY ($2::bigint[]) ORDER BY st.submission_id, st.step, a.place;

-- name: move_pipeline
-- Moves a submission to its next state, with its audit event.
-- $1 shard, $2 submission, $3 the new state, $4 the new step, $5 actions that it runs, $6 action_order of the first of them, $7
-- whether the state is terminal; for the audit: $8 trigger, $9 actor, $10 its type, $11 metadata
WITH moved AS (
  UPDATE submissions SET state = $3, reason = NULL, completed_at = CASE WHEN $7 THEN clock_timestamp() END
  WHERE shard = $1 AND id = $2 RETURNING id, org_id),
at_state AS (
  UPDATE pipeline_submissions p SET state = $3, step = $4, blocked_at = NULL, ended_at = CASE WHEN $7 THEN clock_timestamp() END
  FROM pipeline_submissions old
  WHERE p.shard = $1 AND p.submission_id = $2 AND old.shard = p.shard AND old.submission_id = p.submission_id
  RETURNING p.org_id, p.pipeline, old.state AS old_state, old.step AS old_step),
left_step AS (
  UPDATE pipeline_steps t SET left_at = clock_timestamp() FROM at_state a
  WHERE t.shard = $1 AND t.submission_id = $2 AND t.step = a.old_step),
stepped AS (
  INSERT INTO pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action)
  SELECT $1::smallint, $2, $4, org_id, pipeline, $3, clock_timestamp(), $5::smallint[], $6 FROM at_state)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
SELECT $1::smallint, $2, clock_timestamp(), a.org_id, 'state_changed', a.old_state, $3, $8, $9, $10, $11::jsonb
FROM at_state a JOIN moved ON true;

-- name: run_actions
-- Stores deliveries of a submission's present step, each with a payload of its own.
-- $1 shard, $2 organisation, $3 submission; per delivery: $4 action_order, $5 route, $6 payload; $7 action_order of the next one
WITH wanted AS MATERIALIZED (
  SELECT t.*, nextval('object_ids') * 1024 + $1::smallint AS id
  FROM unnest($4::smallint[], $5::int[], $6::text[]) AS t(place, route, payload)),
next AS (
  UPDATE pipeline_submissions SET next_action = greatest(next_action, $7), blocked_at = NULL WHERE shard = $1 AND submission_id = $3),
body AS (
  INSERT INTO edited_payloads (shard, delivery_id, org_id, body)
  SELECT $1::smallint, id, $2, convert_to(payload, 'UTF8') FROM wanted)
INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, edited)
SELECT $1::smallint, id, $2, $3, place, route, clock_timestamp(), 'due', true FROM wanted;

-- name: block_pipeline
-- Notes that a submission waits for somebody. A row if it did not before.
-- $1 shard, $2 submission
UPDATE pipeline_submissions SET blocked_at = clock_timestamp() WHERE shard = $1 AND submission_id = $2 AND blocked_at IS NULL
RETURNING org_id, pipeline, state;

-- name: repairable_pipelines
-- Lists an organisation's blocked submissions of a pipeline, the oldest first. Null allows any value.
-- $1 organisation, $2 pipeline, $3 state, $4 reference, $5 reason of a dead letter that nobody has replayed, $6 rows
SELECT s.client_ref
FROM pipeline_submissions p JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
WHERE p.org_id = $1 AND p.blocked_at IS NOT NULL AND p.pipeline = $2 AND ($3::text IS NULL OR p.state = $3)
  AND ($4::text IS NULL OR p.reference = $4)
  AND ($5::text IS NULL OR EXISTS (SELECT FROM dead_letters l WHERE l.shard = p.shard AND l.submission_id = p.submission_id
                                     AND l.org_id = $1 AND l.reason = $5 AND l.replayed_at IS NULL))
ORDER BY p.submission_id LIMIT $6;

-- name: order_repair
-- Notes the move that an operator ordered, without which the next one could not be made.
-- $1 shard, $2 submission, $3 the new step, $4 organisation, $5 from which state, $6 to which
INSERT INTO pipeline_repairs (shard, submission_id, step, org_id, from_state, to_state) VALUES ($1, $2, $3, $4, $5, $6);

-- name: give_to_actions
-- Notes what an operator gave actions of a step.
-- $1 shard, $2 submission, $3 step, $4 organisation; per action: $5 place, $6 input, $7 whether it is done, $8 result
INSERT INTO pipeline_given (shard, submission_id, step, org_id, place, input, is_done, result)
SELECT $1::smallint, $2::bigint, $3::smallint, $4::integer, t.* FROM unnest($5::smallint[], $6::text[], $7::boolean[], $8::text[]) AS t(place, input, is_done, result)
ON CONFLICT (shard, submission_id, step, place) DO UPDATE SET is_done = EXCLUDED.is_done, result = EXCLUDED.result;

-- name: unblock_pipeline
-- Notes that a submission does not wait any more, with the audit event of the repair that made it so.
-- $1 shard, $2 submission; for the audit: $3 action, $4 trigger, $5 actor, $6 metadata
WITH free AS (
  UPDATE pipeline_submissions SET blocked_at = NULL WHERE shard = $1 AND submission_id = $2 RETURNING org_id, state)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
SELECT $1::smallint, $2, clock_timestamp(), org_id, $3, state, state, $4, $5, 'admin', $6::jsonb FROM free;

-- name: settle_letters
-- Marks a submission's dead letters as taken care of: a repair stands in for their replay.
-- $1 shard, $2 submission, $3 actor
UPDATE dead_letters SET replayed_at = now(), replayed_by = $3 WHERE shard = $1 AND submission_id = $2 AND replayed_at IS NULL;

-- name: drop_letters
-- Deletes the dead letters of a step whose failure a transition handles after all.
-- $1 shard, $2 submission, $3 action_order of the step's first action
DELETE FROM dead_letters WHERE shard = $1 AND submission_id = $2 AND action_order >= $3 AND replayed_at IS NULL;

-- name: pipeline_deliveries_of
-- Reads a submission's deliveries, unfinished and ended, in the order in which they were made.
-- $1 shard, $2 organisation, $3 submission
SELECT d.id, d.action_order, d.replay, c.contract::jsonb ->> 'actionType', d.status, coalesce(d.reason, ''), d.attempt_count,
       coalesce(d.provider_ref, ''), coalesce(d.result, ''), micros(d.due_at), micros(d.ended_at),
       coalesce(c.contract::jsonb #>> '{stage,state}', ''), c.contract::jsonb ->> 'target'
FROM (
  SELECT delivery_id AS id, action_order, replay, status, NULL AS reason, attempt_count, NULL AS provider_ref, NULL AS result, due_at,
         NULL::timestamptz AS ended_at, route_id
  FROM ready WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND delivery_id <> submission_id
  UNION ALL
  SELECT id, action_order, replay, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at, route_id
  FROM deliveries WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND id <> submission_id) d
JOIN contract_snapshots c ON c.route_id = d.route_id
ORDER BY d.action_order, d.replay;

-- name: pipeline_attempts_of
-- Reads the attempts of a submission's deliveries.
-- $1 shard, $2 deliveries
SELECT delivery_id, number, micros(started_at), micros(finished_at), outcome, coalesce(reason, ''), coalesce(error, ''), counts,
       coalesce(code, 0), coalesce(provider_ref, ''), maybe_sent
FROM attempts WHERE shard = $1 AND delivery_id = ANY ($2::bigint[]) ORDER BY delivery_id, number;

-- part: pipeline_list_columns
-- What a list answers of a submission, whether it fits the filter, and whether the walk stopped at it.
s.id, s.client_ref, p.pipeline, v.number, p.state, p.metadata, micros(p.created_at), micros(p.ended_at), micros(p.blocked_at),
       f.fits, p.place = $7::bigint

-- part: pipeline_list_joins
-- Of the walked rows p.
JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
JOIN pipeline_versions v ON v.version_id = p.version_id

-- part: pipeline_list_end
-- The page, of what fits by f.
WHERE f.fits OR p.place = $7::bigint
ORDER BY p.submission_id DESC LIMIT $6::bigint

-- name: list_pipeline_submissions
-- Reads a page of an organisation's submissions, newest first. Null allows any value. It walks an index, and no further than $7 rows; the row
-- where the walk stopped for that is answered as well, marked as such. The two below read the same by an index of their own.
-- $1 organisation, $2 pipeline, $3 state, $4 reference, $5 submission behind which the page begins, $6 rows to answer at most, $7 rows to walk
-- at most
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = $1 AND submission_id < $5::bigint
  ORDER BY submission_id DESC LIMIT $7::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT ($2::text IS NULL OR p.pipeline = $2) AND ($3::text IS NULL OR p.state = $3) AND ($4::text IS NULL OR p.reference = $4) AS fits) f
{{pipeline_list_end}};

-- name: list_pipeline_state
-- Reads a page of the submissions that are in one state of a pipeline.
-- $1 to $7 as above; $2 and $3 are no null
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = $1 AND pipeline = $2 AND state = $3 AND submission_id < $5::bigint
  ORDER BY submission_id DESC LIMIT $7::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT ($4::text IS NULL OR p.reference = $4) AS fits) f
{{pipeline_list_end}};

-- name: list_pipeline_reference
-- Reads a page of the submissions of one reference.
-- $1 to $7 as above; $4 is no null
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = $1 AND reference = $4 AND submission_id < $5::bigint
  ORDER BY submission_id DESC LIMIT $7::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT ($2::text IS NULL OR p.pipeline = $2) AND ($3::text IS NULL OR p.state = $3) AS fits) f
{{pipeline_list_end}};

-- name: pipeline_counts
-- Counts an organisation's submissions by pipeline and state, the newest ones of each up to a limit, and those of them that are blocked.
-- Walks the pairs of pipeline and state, which are few, with one probe of the index per pair.
-- $1 organisation, $2 the limit
WITH RECURSIVE pair AS (
  (SELECT pipeline, state FROM pipeline_submissions WHERE org_id = $1 ORDER BY pipeline, state LIMIT 1)
  UNION ALL
  SELECT following.pipeline, following.state FROM pair
  CROSS JOIN LATERAL (
    SELECT p.pipeline, p.state FROM pipeline_submissions p WHERE p.org_id = $1 AND (p.pipeline, p.state) > (pair.pipeline, pair.state)
    ORDER BY p.pipeline, p.state LIMIT 1) following)
SELECT pair.pipeline, pair.state, counted.submissions, counted.blocked FROM pair
CROSS JOIN LATERAL (
  SELECT count(*) AS submissions, count(newest.blocked_at) AS blocked
  FROM (SELECT p.blocked_at FROM pipeline_submissions p
        WHERE p.org_id = $1 AND p.pipeline = pair.pipeline AND p.state = pair.state
        ORDER BY p.submission_id DESC LIMIT $2::bigint) newest) counted
ORDER BY 1, 2;

-- name: pipeline_shares
-- Counts the submissions that began within a time, and for each state those of them that came to it; of the newest ones, if there are more
-- than a limit, which the last column tells.
-- $1 pipeline, $2 the time in seconds, $3 the limit
WITH begun AS MATERIALIZED (
  SELECT shard, submission_id FROM pipeline_steps
  WHERE pipeline = $1 AND entered_at > now() - $2::bigint * interval '1 second' AND step = 1
  ORDER BY entered_at DESC LIMIT $3::bigint)
SELECT t.state, count(DISTINCT (t.shard, t.submission_id)), (SELECT count(*) FROM begun), (SELECT count(*) FROM begun) = $3::bigint
FROM begun b JOIN pipeline_steps t ON t.shard = b.shard AND t.submission_id = b.submission_id GROUP BY 1;

-- name: pipeline_shares_of
-- The same of one organisation, by its newest steps within the time, up to a limit.
-- $1 organisation, $2 pipeline, $3 the time in seconds, $4 the limit
WITH newest AS MATERIALIZED (
  SELECT shard, submission_id, step FROM pipeline_steps
  WHERE org_id = $1 AND pipeline = $2 AND entered_at > now() - $3::bigint * interval '1 second'
  ORDER BY entered_at DESC LIMIT $4::bigint),
begun AS MATERIALIZED (SELECT shard, submission_id FROM newest WHERE step = 1)
SELECT t.state, count(DISTINCT (t.shard, t.submission_id)), (SELECT count(*) FROM begun), (SELECT count(*) FROM newest) = $4::bigint
FROM begun b JOIN pipeline_steps t ON t.shard = b.shard AND t.submission_id = b.submission_id GROUP BY 1;

-- name: pipeline_level
-- Measures how long submissions took between two points of a pipeline: the newest ones that passed the first within a time.
-- Answers how many are through or have missed the target, being on their way for longer than it; how many of them were within the
-- target; their 95th percentile in milliseconds (of those on their way, the time until now); how many are still on their way, and for
-- how long (milliseconds) the oldest of these is.
-- $1 organisation, $2 pipeline, $3 state whose entry begins the time (null: the beginning), $4 states whose entry ends it (empty:
-- leaving the state does), $5 states whose submissions do not count, $6 target in milliseconds, $7 the time in seconds, $8
-- submissions at most, $9 steps to look for them in, the newest ones
WITH begun AS MATERIALIZED (
  SELECT shard, submission_id, step, entered_at, left_at
  FROM (SELECT shard, submission_id, step, state, entered_at, left_at FROM pipeline_steps
        WHERE org_id = $1 AND pipeline = $2 AND entered_at > now() - $7::bigint * interval '1 second'
        ORDER BY entered_at DESC LIMIT $9::bigint) newest
  WHERE CASE WHEN $3::text IS NULL THEN step = 1 ELSE state = $3 END
  ORDER BY entered_at DESC LIMIT $8::bigint),
timed AS (
  SELECT b.entered_at, p.ended_at, CASE WHEN cardinality($4::text[]) = 0 THEN b.left_at ELSE e.entered_at END AS done
  FROM begun b
  JOIN pipeline_submissions p ON p.shard = b.shard AND p.submission_id = b.submission_id
  LEFT JOIN LATERAL (
    SELECT min(t.entered_at) AS entered_at FROM pipeline_steps t
    WHERE t.shard = b.shard AND t.submission_id = b.submission_id AND t.step > b.step AND t.state = ANY ($4::text[])) e ON true
  WHERE NOT EXISTS (SELECT FROM pipeline_steps x
                    WHERE x.shard = b.shard AND x.submission_id = b.submission_id AND x.state = ANY ($5::text[]))),
measured AS (
  SELECT *, CASE WHEN done IS NOT NULL THEN done - entered_at
                 WHEN ended_at IS NULL AND now() - entered_at > $6::bigint * interval '1 millisecond' THEN now() - entered_at END AS took
  FROM timed)
SELECT count(took), count(*) FILTER (WHERE took <= $6::bigint * interval '1 millisecond'),
       coalesce((1000 * extract(epoch FROM percentile_cont(0.95) WITHIN GROUP (ORDER BY took)))::bigint, 0),
       count(*) FILTER (WHERE done IS NULL AND ended_at IS NULL),
       coalesce((1000 * extract(epoch FROM max(now() - entered_at) FILTER (WHERE done IS NULL AND ended_at IS NULL)))::bigint, 0)
FROM measured;

-- name: blocked_pipelines
-- Reads a page of the submissions that are blocked, the longest first.
-- $1 shard, $2 and $3 time (microseconds) and submission behind which the page begins, $4 rows at most
SELECT submission_id, micros(blocked_at) FROM pipeline_submissions
WHERE shard = $1 AND blocked_at IS NOT NULL AND blocked_at >= at_micros($2) AND (blocked_at, submission_id) > (at_micros($2), $3)
ORDER BY blocked_at, submission_id LIMIT $4;
