-- Submissions that walk pipelines: handing them in, the moves from state to state, reading them. Used by pipeline_rows.cpp,
-- pipeline_versions.cpp and pipeline_store.cpp.

-- name: find_pipeline_version
-- Finds a version by its content: `:hash` is the SHA-256 of the definition.
-- takes: hash
-- returns: version_id number, number number
SELECT version_id, number FROM pipeline_versions WHERE hash = :hash;

-- name: make_pipeline_version
-- Stores a version. Two hosts may do so at once: then no row may be stored, and it is done again. `:hash` is the SHA-256 of the
-- definition.
-- takes: pipeline, hash, definition
INSERT INTO pipeline_versions (pipeline, number, hash, definition)
SELECT :pipeline, coalesce(max(number), 0) + 1, :hash, :definition FROM pipeline_versions WHERE pipeline = :pipeline
ON CONFLICT DO NOTHING;

-- name: make_pipeline_moves
-- Stores the moves that a pipeline's submissions may make. The arrays have one element for each move.
-- takes: pipeline, from_states, to_states
INSERT INTO pipeline_moves (pipeline, from_state, to_state)
SELECT DISTINCT :pipeline, t.a, t.b FROM unnest(:from_states::text[], :to_states::text[]) AS t(a, b) WHERE t.a <> t.b
ON CONFLICT DO NOTHING;

-- name: read_pipeline_version
-- Reads a version.
-- takes: version
-- returns: number number, definition text
SELECT number, definition FROM pipeline_versions WHERE version_id = :version;

-- name: submit_pipeline
-- Stores a submission in its first state. No row if its key is taken, or a form's or an archived submission has its id.
-- `:hash` is the SHA-256 of what was handed in, `:parent` the submission that started it; `:actions` are those that the state runs;
-- what of `:trace`, `:not_before`, `:expires` and `:producer` it has not is its parent's;
-- `:trigger`, `:actor` and `:actor_type` are for the audit.
-- takes: shard, org, client_ref, pipeline, state, hash, payload, version, routes, metadata, reference, parent, trigger, actor
-- takes: actor_type, actions, trace, not_before, expires, producer
-- returns: id number, created time
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body, trace, not_before,
                           expires_at, producer)
  SELECT :shard::smallint, nextval('object_ids') * 1024 + :shard::smallint, :org, 'pipeline', :client_ref, :pipeline, :pipeline,
         :state, :hash, clock_timestamp(), convert_to(:payload, 'UTF8'),
         coalesce(:trace, above.trace), coalesce(at_micros(:not_before), above.not_before), coalesce(at_micros(:expires), above.expires_at),
         coalesce(:producer, above.producer)
  FROM (SELECT 1) one LEFT JOIN submissions above ON above.shard = (:parent::bigint % 1024)::smallint AND above.id = :parent
  WHERE NOT EXISTS (SELECT FROM submissions WHERE shard = :shard AND org_id = :org AND kind = 'form' AND client_ref = :client_ref)
    AND NOT EXISTS (SELECT FROM archived_submissions WHERE org_id = :org AND client_ref = :client_ref)
  ON CONFLICT DO NOTHING RETURNING id, created_at),
walks AS (
  INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, reference, parent,
                                    created_at)
  SELECT :shard::smallint, id, :org, :version, :pipeline, :state, 1, :routes::int[], :metadata, :reference, :parent,
         created_at FROM made),
stepped AS (
  INSERT INTO pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action)
  SELECT :shard::smallint, id, 1, :org, :pipeline, :state, created_at, :actions::smallint[], 1 FROM made),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, to_state, trigger, actor, actor_type, metadata)
  SELECT :shard::smallint, id, created_at, :org, 'state_changed', :state, :trigger, :actor, :actor_type, '{}' FROM made)
SELECT id, micros(created_at) AS created FROM made;

-- name: find_pipeline_submission
-- Reads a submission, and whether what was handed in is the same: has the SHA-256 `:hash`, if one is given.
-- takes: shard, org, client_ref, hash
-- returns: {{submission}}
-- returns: is_same flag?, version number, metadata text, payload text?, blocked time?, ended time?
SELECT {{submission}},
       s.payload_hash = :hash AS is_same,
       v.number AS version,
       p.metadata,
       convert_from(s.body, 'UTF8') AS payload,
       micros(p.blocked_at) AS blocked,
       micros(p.ended_at) AS ended
FROM submissions s
JOIN pipeline_submissions p ON p.shard = s.shard AND p.submission_id = s.id
JOIN pipeline_versions v ON v.version_id = p.version_id
WHERE s.shard = :shard AND s.org_id = :org AND s.kind = 'pipeline' AND s.client_ref = :client_ref;

-- name: who_has_pipeline_id
-- Tells whether an id that is taken is an archived submission's; else it is a form's.
-- takes: org, client_ref
-- returns: is_archived flag
SELECT EXISTS (SELECT FROM archived_submissions WHERE org_id = :org AND client_ref = :client_ref) AS is_archived;

-- name: lock_pipeline_submission
-- Locks a submission, unless somebody else holds it.
-- takes: shard, org, client_ref
-- returns: id number, state text
SELECT id, state FROM submissions WHERE shard = :shard AND org_id = :org AND kind = 'pipeline' AND client_ref = :client_ref
FOR UPDATE NOWAIT;

-- name: lock_walking
-- Locks submissions that walk a pipeline.
-- takes: shard, submissions
-- returns: id number
SELECT id FROM submissions WHERE shard = :shard AND id = ANY (:submissions::bigint[]) AND kind = 'pipeline' ORDER BY id FOR UPDATE;

-- name: walking
-- Reads where submissions are, and the moment to which the database was restored since they, or what started them, were handed in: what follows
-- may have been done already, after it.
-- takes: shard, submissions
-- returns: submission_id number, org_id number, version_id number, state text, step number, next_action number, routes text
-- returns: metadata text, client_ref text, payload text?, created time, now time, is_blocked flag, restored_to time?
SELECT p.submission_id,
       p.org_id,
       p.version_id,
       p.state,
       p.step,
       p.next_action,
       p.routes::text AS routes,
       p.metadata,
       s.client_ref,
       convert_from(s.body, 'UTF8') AS payload,
       micros(s.created_at) AS created,
       micros(clock_timestamp()) AS now,
       p.blocked_at IS NOT NULL AS is_blocked,
       CASE WHEN EXISTS (SELECT FROM restores) THEN (
         WITH RECURSIVE above AS (
           SELECT p.parent AS parent, s.created_at AS at
           UNION ALL
           SELECT q.parent, q.created_at FROM above JOIN pipeline_submissions q ON q.shard = (above.parent % 1024)::smallint AND q.submission_id = above.parent)
         SELECT micros(max(restored_to)) FROM restores WHERE restored_to >= (SELECT min(at) FROM above)) END AS restored_to
FROM pipeline_submissions p JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
WHERE p.shard = :shard AND p.submission_id = ANY (:submissions::bigint[]) ORDER BY p.submission_id;

-- name: pipeline_runs
-- Reads the actions that each step of submissions runs, with the latest delivery of each, or what an operator gave it. A delivery that
-- failed has the reason of its last attempt as well, which can be the service's own word.
-- takes: shard, submissions
-- returns: submission_id number, step number, state text, action number?, status text?, result text?, reason text, entered time
-- returns: attempts number, first_action number, error text, input text?
SELECT st.submission_id,
       st.step,
       st.state,
       a.action,
       CASE WHEN g.is_done THEN 'accepted' ELSE d.status::text END AS status,
       CASE WHEN g.is_done THEN g.result ELSE d.result END AS result,
       coalesce(d.reason, '') AS reason,
       micros(st.entered_at) AS entered,
       coalesce(d.attempt_count, 0) AS attempts,
       st.first_action,
       coalesce(CASE WHEN d.status IN ('rejected', 'exhausted') THEN (
         SELECT coalesce(nullif(t.reason, ''), split_part(t.error, ': ', 1)) FROM attempts t
         WHERE t.shard = :shard AND t.delivery_id = d.id ORDER BY t.number DESC LIMIT 1) END, '') AS error,
       g.input
FROM pipeline_steps st
LEFT JOIN LATERAL unnest(st.actions) WITH ORDINALITY AS a(action, place) ON true
LEFT JOIN pipeline_given g ON g.shard = :shard AND g.submission_id = st.submission_id AND g.step = st.step AND g.place = a.place
LEFT JOIN LATERAL (
  SELECT x.id, x.status, x.result, x.reason, x.attempt_count FROM (
    SELECT r.delivery_id AS id, r.status, NULL::text AS result, NULL AS reason, r.replay, r.attempt_count FROM ready r
    WHERE r.shard = :shard AND r.org_id = st.org_id AND r.submission_id = st.submission_id AND r.delivery_id <> r.submission_id
      AND r.action_order = st.first_action + a.place - 1
    UNION ALL
    SELECT e.id, e.status, e.result::text, e.reason, e.replay, e.attempt_count FROM deliveries e
    WHERE e.shard = :shard AND e.org_id = st.org_id AND e.submission_id = st.submission_id AND e.id <> e.submission_id
      AND e.action_order = st.first_action + a.place - 1) x
  ORDER BY x.replay DESC LIMIT 1) d ON true
WHERE st.shard = :shard AND st.submission_id = ANY (:submissions::bigint[]) ORDER BY st.submission_id, st.step, a.place;

-- name: move_pipeline
-- Moves a submission to its next state, with its audit event. `:state` and `:step` are the new ones; `:actions` are those that the
-- state runs, `:first_action` is the action_order of the first of them; what follows `:is_terminal` is for the audit.
-- takes: shard, submission, state, step, actions, first_action, is_terminal, trigger, actor, actor_type, metadata
WITH moved AS (
  UPDATE submissions SET state = :state, reason = NULL, completed_at = CASE WHEN :is_terminal THEN clock_timestamp() END
  WHERE shard = :shard AND id = :submission RETURNING id, org_id),
at_state AS (
  UPDATE pipeline_submissions p
  SET state = :state, step = :step, blocked_at = NULL, ended_at = CASE WHEN :is_terminal THEN clock_timestamp() END
  FROM pipeline_submissions old
  WHERE p.shard = :shard AND p.submission_id = :submission AND old.shard = p.shard AND old.submission_id = p.submission_id
  RETURNING p.org_id, p.pipeline, old.state AS old_state, old.step AS old_step),
left_step AS (
  UPDATE pipeline_steps t SET left_at = clock_timestamp() FROM at_state a
  WHERE t.shard = :shard AND t.submission_id = :submission AND t.step = a.old_step),
stepped AS (
  INSERT INTO pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action)
  SELECT :shard::smallint, :submission, :step, org_id, pipeline, :state, clock_timestamp(), :actions::smallint[], :first_action
  FROM at_state)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
SELECT :shard::smallint, :submission, clock_timestamp(), a.org_id, 'state_changed', a.old_state, :state, :trigger, :actor,
       :actor_type, :metadata::jsonb
FROM at_state a JOIN moved ON true;

-- name: run_actions
-- Stores deliveries of a submission's present step, each with a payload of its own. The arrays have one element for each delivery;
-- `:next_action` is the action_order of the next one; `:maybe_sent`: they may have been sent before the database was restored.
-- takes: shard, org, submission, action_orders, routes, payloads, next_action, maybe_sent
WITH wanted AS MATERIALIZED (
  SELECT t.*, nextval('object_ids') * 1024 + :shard::smallint AS id
  FROM unnest(:action_orders::smallint[], :routes::int[], :payloads::text[]) AS t(place, route, payload)),
next AS (
  UPDATE pipeline_submissions SET next_action = greatest(next_action, :next_action), blocked_at = NULL
  WHERE shard = :shard AND submission_id = :submission),
body AS (
  INSERT INTO edited_payloads (shard, delivery_id, org_id, body)
  SELECT :shard::smallint, id, :org, convert_to(payload, 'UTF8') FROM wanted)
INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, maybe_sent, edited, expires_at)
SELECT :shard::smallint, w.id, :org, :submission, w.place, w.route, greatest(clock_timestamp(), s.not_before), 'due', :maybe_sent::boolean, true,
       s.expires_at
FROM wanted w JOIN submissions s ON s.shard = :shard AND s.id = :submission;

-- name: end_restored_actions
-- Stores deliveries of a submission's present step that are not sent, since they may have been after the moment to which the database was restored:
-- each as ended, and, if `:is_dead`, as a dead letter. Otherwise as run_actions.
-- takes: shard, org, submission, action_orders, routes, payloads, next_action, is_dead
WITH wanted AS MATERIALIZED (
  SELECT t.*, nextval('object_ids') * 1024 + :shard::smallint AS id, c.contract::jsonb ->> 'actionType' AS action_type, clock_timestamp() AS at
  FROM unnest(:action_orders::smallint[], :routes::int[], :payloads::text[]) AS t(place, route, payload)
  JOIN contract_snapshots c ON c.route_id = t.route),
next AS (
  UPDATE pipeline_submissions SET next_action = greatest(next_action, :next_action), blocked_at = NULL
  WHERE shard = :shard AND submission_id = :submission),
body AS (
  INSERT INTO edited_payloads (shard, delivery_id, org_id, body)
  SELECT :shard::smallint, id, :org, convert_to(payload, 'UTF8') FROM wanted),
letter AS (
  INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, died_at)
  SELECT :shard::smallint, w.id, :org, :submission, s.kind, s.client_ref, s.target, w.place, w.action_type, 'restored', w.at
  FROM wanted w JOIN submissions s ON s.shard = :shard AND s.id = :submission WHERE :is_dead::boolean)
INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, reason, ended_at)
SELECT :shard::smallint, id, :org, :submission, place, action_type, route, 'exhausted', 'restored', at FROM wanted;

-- name: block_pipeline
-- Notes that a submission waits for somebody. A row if it did not before.
-- takes: shard, submission
-- returns: org_id number, pipeline text, state text
UPDATE pipeline_submissions SET blocked_at = clock_timestamp()
WHERE shard = :shard AND submission_id = :submission AND blocked_at IS NULL
RETURNING org_id, pipeline, state;

-- name: repairable_pipelines
-- Lists an organisation's blocked submissions of a pipeline, the oldest first. Null allows any value. `:reason` is that of a dead
-- letter that nobody has replayed.
-- takes: org, pipeline, state, reference, reason, most
-- returns: client_ref text
SELECT s.client_ref
FROM pipeline_submissions p JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
WHERE p.org_id = :org AND p.blocked_at IS NOT NULL AND p.pipeline = :pipeline AND (:state::text IS NULL OR p.state = :state)
  AND (:reference::text IS NULL OR p.reference = :reference)
  AND (:reason::text IS NULL OR EXISTS (SELECT FROM dead_letters l WHERE l.shard = p.shard AND l.submission_id = p.submission_id
                                     AND l.org_id = :org AND l.reason = :reason AND l.replayed_at IS NULL))
ORDER BY p.submission_id LIMIT :most;

-- name: order_repair
-- Notes the move that an operator ordered, without which the next one could not be made. `:step` is the new one.
-- takes: shard, submission, step, org, from_state, to_state
INSERT INTO pipeline_repairs (shard, submission_id, step, org_id, from_state, to_state)
VALUES (:shard, :submission, :step, :org, :from_state, :to_state);

-- name: give_to_actions
-- Notes what an operator gave actions of a step. The arrays have one element for each action; `:done` says whether it is done.
-- takes: shard, submission, step, org, places, inputs, done, results
INSERT INTO pipeline_given (shard, submission_id, step, org_id, place, input, is_done, result)
SELECT :shard::smallint, :submission::bigint, :step::smallint, :org::integer, t.*
FROM unnest(:places::smallint[], :inputs::text[], :done::boolean[], :results::text[]) AS t(place, input, is_done, result)
ON CONFLICT (shard, submission_id, step, place) DO UPDATE SET is_done = EXCLUDED.is_done, result = EXCLUDED.result;

-- name: unblock_pipeline
-- Notes that a submission does not wait any more, with the audit event of the repair that made it so. What follows `:submission` is
-- for the audit.
-- takes: shard, submission, action, trigger, actor, metadata
WITH free AS (
  UPDATE pipeline_submissions SET blocked_at = NULL WHERE shard = :shard AND submission_id = :submission RETURNING org_id, state)
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type, metadata)
SELECT :shard::smallint, :submission, clock_timestamp(), org_id, :action, state, state, :trigger, :actor, 'admin', :metadata::jsonb
FROM free;

-- name: settle_letters
-- Marks a submission's dead letters as taken care of: a repair stands in for their replay.
-- takes: shard, submission, actor
UPDATE dead_letters SET replayed_at = now(), replayed_by = :actor
WHERE shard = :shard AND submission_id = :submission AND replayed_at IS NULL;

-- name: drop_letters
-- Deletes the dead letters of a step whose failure a transition handles after all. `:first_action` is the action_order of the first
-- action of the step.
-- takes: shard, submission, first_action
DELETE FROM dead_letters
WHERE shard = :shard AND submission_id = :submission AND action_order >= :first_action AND replayed_at IS NULL;

-- name: pipeline_deliveries_of
-- Reads a submission's deliveries, unfinished and ended, in the order in which they were made.
-- takes: shard, org, submission
-- returns: {{action_delivery}}, action_type text?, state text, target text?
SELECT {{action_delivery}},
       c.contract::jsonb ->> 'actionType' AS action_type,
       coalesce(c.contract::jsonb #>> '{stage,state}', '') AS state,
       c.contract::jsonb ->> 'target' AS target
FROM (
  SELECT delivery_id AS id, action_order, replay, status, NULL AS reason, attempt_count, NULL AS provider_ref, NULL AS result, due_at,
         NULL::timestamptz AS ended_at, route_id
  FROM ready WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND delivery_id <> submission_id
  UNION ALL
  SELECT id, action_order, replay, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at, route_id
  FROM deliveries WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND id <> submission_id) d
JOIN contract_snapshots c ON c.route_id = d.route_id
ORDER BY d.action_order, d.replay;

-- name: pipeline_attempts_of
-- Reads the attempts of a submission's deliveries.
-- takes: shard, deliveries
-- returns: delivery_id number, {{attempt}}
SELECT a.delivery_id, {{attempt}}
FROM attempts a WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[]) ORDER BY delivery_id, number;

-- part: pipeline_list_columns
-- What a list answers of a submission, whether it fits the filter, and whether the walk stopped at it.
-- returns: id number, client_ref text, pipeline text, version number, state text, metadata text, created time, ended time?
-- returns: blocked time?, fits flag?, walk_stopped flag
s.id,
       s.client_ref,
       p.pipeline,
       v.number AS version,
       p.state,
       p.metadata,
       micros(p.created_at) AS created,
       micros(p.ended_at) AS ended,
       micros(p.blocked_at) AS blocked,
       f.fits,
       p.place = :max_walked::bigint AS walk_stopped

-- part: pipeline_list_joins
-- Of the walked rows p.
JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
JOIN pipeline_versions v ON v.version_id = p.version_id

-- part: pipeline_list_end
-- The page, of what fits by f.
WHERE f.fits OR p.place = :max_walked::bigint
ORDER BY p.submission_id DESC LIMIT :most::bigint

-- name: list_pipeline_submissions
-- Reads a page of an organisation's submissions, newest first, at most `:most` that came before the submission `:before`. Null
-- allows any value. It walks an index, and no further than `:max_walked` rows; the row where the walk stopped for that is answered as
-- well, marked as such. The two below read the same by an index of their own.
-- takes: org, pipeline, state, reference, before, most, max_walked
-- returns: {{pipeline_list_columns}}
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = :org AND submission_id < :before::bigint
  ORDER BY submission_id DESC LIMIT :max_walked::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT (:pipeline::text IS NULL OR p.pipeline = :pipeline) AND (:state::text IS NULL OR p.state = :state)
           AND (:reference::text IS NULL OR p.reference = :reference) AS fits) f
{{pipeline_list_end}};

-- name: list_pipeline_state
-- Reads a page of the submissions that are in one state of a pipeline.
-- The parameters are as above; `:pipeline` and `:state` are no null.
-- takes: org, pipeline, state, reference, before, most, max_walked
-- returns: {{pipeline_list_columns}}
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = :org AND pipeline = :pipeline AND state = :state AND submission_id < :before::bigint
  ORDER BY submission_id DESC LIMIT :max_walked::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT (:reference::text IS NULL OR p.reference = :reference) AS fits) f
{{pipeline_list_end}};

-- name: list_pipeline_reference
-- Reads a page of the submissions of one reference.
-- The parameters are as above; `:reference` is no null.
-- takes: org, pipeline, state, reference, before, most, max_walked
-- returns: {{pipeline_list_columns}}
SELECT {{pipeline_list_columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY submission_id DESC) AS place FROM pipeline_submissions
  WHERE org_id = :org AND reference = :reference AND submission_id < :before::bigint
  ORDER BY submission_id DESC LIMIT :max_walked::bigint) p
{{pipeline_list_joins}}
CROSS JOIN LATERAL (
  SELECT (:pipeline::text IS NULL OR p.pipeline = :pipeline) AND (:state::text IS NULL OR p.state = :state) AS fits) f
{{pipeline_list_end}};

-- name: pipeline_counts
-- Counts an organisation's submissions by pipeline and state, the newest ones of each up to `:most`, and those of them that are
-- blocked. Walks the pairs of pipeline and state, which are few, with one probe of the index per pair.
-- takes: org, most
-- returns: pipeline text, state text, submissions number, blocked number
WITH RECURSIVE pair AS (
  (SELECT pipeline, state FROM pipeline_submissions WHERE org_id = :org ORDER BY pipeline, state LIMIT 1)
  UNION ALL
  SELECT following.pipeline, following.state FROM pair
  CROSS JOIN LATERAL (
    SELECT p.pipeline, p.state FROM pipeline_submissions p WHERE p.org_id = :org AND (p.pipeline, p.state) > (pair.pipeline, pair.state)
    ORDER BY p.pipeline, p.state LIMIT 1) following)
SELECT pair.pipeline, pair.state, counted.submissions, counted.blocked FROM pair
CROSS JOIN LATERAL (
  SELECT count(*) AS submissions, count(newest.blocked_at) AS blocked
  FROM (SELECT p.blocked_at FROM pipeline_submissions p
        WHERE p.org_id = :org AND p.pipeline = pair.pipeline AND p.state = pair.state
        ORDER BY p.submission_id DESC LIMIT :most::bigint) newest) counted
ORDER BY 1, 2;

-- name: pipeline_shares
-- Counts the submissions that began within `:window` seconds, and for each state those of them that came to it; of the newest ones,
-- if there are more than `:most`, which the last column tells.
-- takes: pipeline, window, most
-- returns: state text, came_to number, begun number, is_lower_bound flag
WITH begun AS MATERIALIZED (
  SELECT shard, submission_id FROM pipeline_steps
  WHERE pipeline = :pipeline AND entered_at > now() - :window::bigint * interval '1 second' AND step = 1
  ORDER BY entered_at DESC LIMIT :most::bigint)
SELECT t.state,
       count(DISTINCT (t.shard, t.submission_id)) AS came_to,
       (SELECT count(*) FROM begun) AS begun,
       (SELECT count(*) FROM begun) = :most::bigint AS is_lower_bound
FROM begun b JOIN pipeline_steps t ON t.shard = b.shard AND t.submission_id = b.submission_id GROUP BY 1;

-- name: pipeline_shares_of
-- The same of one organisation, by its newest steps within the time, up to `:most`.
-- takes: org, pipeline, window, most
-- returns: state text, came_to number, begun number, is_lower_bound flag
WITH newest AS MATERIALIZED (
  SELECT shard, submission_id, step FROM pipeline_steps
  WHERE org_id = :org AND pipeline = :pipeline AND entered_at > now() - :window::bigint * interval '1 second'
  ORDER BY entered_at DESC LIMIT :most::bigint),
begun AS MATERIALIZED (SELECT shard, submission_id FROM newest WHERE step = 1)
SELECT t.state,
       count(DISTINCT (t.shard, t.submission_id)) AS came_to,
       (SELECT count(*) FROM begun) AS begun,
       (SELECT count(*) FROM newest) = :most::bigint AS is_lower_bound
FROM begun b JOIN pipeline_steps t ON t.shard = b.shard AND t.submission_id = b.submission_id GROUP BY 1;

-- name: pipeline_level
-- Measures how long submissions took between two points of a pipeline: the newest `:most` that passed the first within `:window`
-- seconds, looked for in the newest `:max_steps` steps. Answers how many are through or have missed the target, being on their way
-- for longer than it; how many of them were within the target; their 95th percentile in milliseconds (of those on their way, the
-- time until now); how many are still on their way, and for how long (milliseconds) the oldest of these is.
-- The entry of `:from_state` begins the time (null: the beginning), that of `:to_states` ends it (empty: leaving the state does).
-- Submissions that were in `:except_states` do not count. `:target` is in milliseconds.
-- takes: org, pipeline, from_state, to_states, except_states, target, window, most, max_steps
-- returns: through number, within number, p95_ms number, open number, oldest_open_ms number
WITH begun AS MATERIALIZED (
  SELECT shard, submission_id, step, entered_at, left_at
  FROM (SELECT shard, submission_id, step, state, entered_at, left_at FROM pipeline_steps
        WHERE org_id = :org AND pipeline = :pipeline AND entered_at > now() - :window::bigint * interval '1 second'
        ORDER BY entered_at DESC LIMIT :max_steps::bigint) newest
  WHERE CASE WHEN :from_state::text IS NULL THEN step = 1 ELSE state = :from_state END
  ORDER BY entered_at DESC LIMIT :most::bigint),
timed AS (
  SELECT b.entered_at, p.ended_at, CASE WHEN cardinality(:to_states::text[]) = 0 THEN b.left_at ELSE e.entered_at END AS done
  FROM begun b
  JOIN pipeline_submissions p ON p.shard = b.shard AND p.submission_id = b.submission_id
  LEFT JOIN LATERAL (
    SELECT min(t.entered_at) AS entered_at FROM pipeline_steps t
    WHERE t.shard = b.shard AND t.submission_id = b.submission_id AND t.step > b.step AND t.state = ANY (:to_states::text[])) e ON true
  WHERE NOT EXISTS (SELECT FROM pipeline_steps x
                    WHERE x.shard = b.shard AND x.submission_id = b.submission_id AND x.state = ANY (:except_states::text[]))),
measured AS (
  SELECT *, CASE WHEN done IS NOT NULL THEN done - entered_at
                 WHEN ended_at IS NULL AND now() - entered_at > :target::bigint * interval '1 millisecond'
                   THEN now() - entered_at END AS took
  FROM timed)
SELECT count(took) AS through,
       count(*) FILTER (WHERE took <= :target::bigint * interval '1 millisecond') AS within,
       coalesce((1000 * extract(epoch FROM percentile_cont(0.95) WITHIN GROUP (ORDER BY took)))::bigint, 0) AS p95_ms,
       count(*) FILTER (WHERE done IS NULL AND ended_at IS NULL) AS open,
       coalesce((1000 * extract(epoch FROM max(now() - entered_at) FILTER (WHERE done IS NULL AND ended_at IS NULL)))::bigint, 0)
         AS oldest_open_ms
FROM measured;

-- name: blocked_pipelines
-- Reads a page of the submissions that are blocked, the longest first. It begins behind what was blocked at `:after_time`
-- (microseconds) with the id `:after_submission`.
-- takes: shard, after_time, after_submission, most
-- returns: submission_id number, blocked time
SELECT submission_id, micros(blocked_at) AS blocked FROM pipeline_submissions
WHERE shard = :shard AND blocked_at IS NOT NULL AND blocked_at >= at_micros(:after_time)
  AND (blocked_at, submission_id) > (at_micros(:after_time), :after_submission)
ORDER BY blocked_at, submission_id LIMIT :most;
