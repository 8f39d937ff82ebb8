-- Pages of submissions, newest first. Used by submission_list.cpp.
--
-- Each looks at a bounded number of rows from the cursor on: however rare what is asked for is, a page costs no more. Where it stopped for
-- that, the next page begins. Those of forms and pipelines walk an index backwards, and answer the row where the walk stopped as well,
-- marked as such. Intents have no index of their own for this, as it would cost intake a tenth.

-- part: intent_columns
-- What is read of an intent s, which may not be there.
-- returns: id number?, org_id number?, client_ref text?, target text?, state text?, reason text, created time?, completed time?
-- returns: {{terms}}
{{submission}}

-- part: walked_columns
-- What is read of a walked submission w, whether it fits the filter, and whether the walk stopped at it.
-- returns: id number, org_id number, client_ref text, target text, state text, reason text, created time, completed time?
-- returns: {{terms}}, fits flag, walk_stopped flag
w.id,
       w.org_id,
       w.client_ref,
       w.target,
       w.state,
       coalesce(w.reason, '') AS reason,
       micros(w.created_at) AS created,
       micros(w.completed_at) AS completed,
       w.terms,
       f.fits,
       w.place = :max_walked::bigint AS walk_stopped

-- name: list_new_intents
-- Reads a page of an organisation's intents that `listed_intents` does not have yet, by walking the primary key of each shard. It passes over
-- those of others, so what bounds the walk is a range of ids. The last two columns say above which id it has read, and whether
-- `listed_intents` goes on there; without an intent they stand alone.
-- The page has `:most` rows at most, of ids below `:below` that were created from `:since` on and before `:until` (microseconds).
-- `:max_walked` is in numbers of ids. Null allows any `:status` and any `:targets`.
-- takes: org, since, until, below, max_walked, most, shard_count, status, targets
-- returns: {{intent_columns}}, above number, is_all flag
WITH walk AS MATERIALIZED (
  SELECT begins.below, greatest(l.upto, begins.below - 1 - :max_walked::bigint * 1024) AS above, l.upto
  FROM (SELECT least(:below::bigint, (coalesce(pg_sequence_last_value('object_ids'::regclass), 0) + 1) * 1024) AS below) begins
  CROSS JOIN listing l)
SELECT {{intent_columns}},
       walk.above,
       walk.above <= walk.upto AS is_all
FROM walk
LEFT JOIN LATERAL (
  SELECT i.* FROM generate_series(0, :shard_count::integer - 1) AS of_shard(number)
  CROSS JOIN LATERAL (
    SELECT * FROM submission_states s
    WHERE s.shard = of_shard.number::smallint AND s.id > walk.above AND s.id < walk.below AND s.org_id = :org AND s.kind = 'intent'
      AND s.created_at >= at_micros(:since) AND s.created_at < at_micros(:until)
      AND (:status::text IS NULL OR s.state = :status) AND (:targets::text[] IS NULL OR s.target = ANY (:targets))
    ORDER BY s.id DESC LIMIT :most::bigint) i
  ORDER BY i.id DESC LIMIT :most::bigint) s ON true
ORDER BY s.id DESC;

-- name: list_listed_intents
-- Reads a page of an organisation's intents from `listed_intents`, newest first. What it looks at is bounded: so many rows of that table, and
-- the intents of those among them that may have some of the times and targets, up to about so many. The last two columns say above which id
-- it has read, and whether that was all; without an intent they stand alone.
-- The parameters are as above, but it looks at about `:max_walked` intents, and at `:max_rows` rows of `listed_intents` at most.
-- takes: org, since, until, below, max_walked, most, max_rows, status, targets
-- returns: {{intent_columns}}, above number?, is_all flag
WITH looked AS MATERIALIZED (
  SELECT *, coalesce(sum(intents) FILTER (WHERE may_fit) OVER (ORDER BY above DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0)
              < :max_walked::bigint AS is_near
  FROM (SELECT above, intents, targets, ids, target_places,
               newest >= at_micros(:since) AND oldest < at_micros(:until)
                 AND (:targets::text[] IS NULL OR targets && :targets) AS may_fit
        FROM listed_intents WHERE org_id = :org AND above < :below::bigint - 1 ORDER BY above DESC LIMIT :max_rows::bigint) newest_first)
SELECT {{intent_columns}},
       reached.above,
       reached.is_all
FROM (SELECT min(above) FILTER (WHERE is_near) AS above, bool_and(is_near) IS NOT FALSE AND count(*) < :max_rows::bigint AS is_all
      FROM looked) reached
LEFT JOIN LATERAL (
  SELECT i.* FROM (
    SELECT listed.id FROM looked CROSS JOIN LATERAL unnest(looked.ids, looked.target_places) AS listed(id, place)
    WHERE looked.is_near AND looked.may_fit AND listed.id < :below::bigint
      AND (:targets::text[] IS NULL OR looked.targets[listed.place] = ANY (:targets))
    ORDER BY listed.id DESC OFFSET 0) found
  JOIN submission_states i ON i.shard = (found.id & 1023)::smallint AND i.id = found.id
  WHERE i.org_id = :org AND i.created_at >= at_micros(:since) AND i.created_at < at_micros(:until)
    AND (:status::text IS NULL OR i.state = :status)
  ORDER BY found.id DESC LIMIT :most::bigint) s ON true
ORDER BY s.id DESC;

-- name: list_forms_of
-- Reads a page of the submissions of one form.
-- The page has `:most` rows at most, of what was created from `:since` on and before `:until`. It begins behind what was created at
-- `:after_time` with the id `:after_id`. Times are in microseconds. Null allows any `:status`.
-- takes: org, since, until, after_time, after_id, max_walked, most, status, form
-- returns: {{walked_columns}}
SELECT {{walked_columns}}
FROM (
  SELECT id, org_id, client_ref, target, state, reason, created_at, completed_at, {{terms}},
         row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM submissions s
  WHERE org_id = :org AND kind = 'form' AND target = :form AND created_at >= at_micros(:since) AND created_at < at_micros(:until)
    AND (created_at, id) < (at_micros(:after_time), :after_id::bigint)
  ORDER BY created_at DESC, id DESC LIMIT :max_walked::bigint) w
CROSS JOIN LATERAL (SELECT :status::text IS NULL OR w.state = :status AS fits) f
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT :most::bigint;

-- name: list_submissions
-- Reads a page of an organisation's submissions of forms and of pipelines; with a status, of forms only. What only a pipeline's has
-- follows: version, metadata, end, since when it is blocked. The parameters are as above.
-- takes: org, since, until, after_time, after_id, max_walked, most, status
-- returns: {{walked_columns}}, version number?, metadata text?, ended time?, blocked time?
SELECT {{walked_columns}},
       v.number AS version,
       p.metadata,
       micros(p.ended_at) AS ended,
       micros(p.blocked_at) AS blocked
FROM (
  SELECT shard, id, org_id, kind, client_ref, target, state, reason, created_at, completed_at, {{terms}},
         row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM submissions s
  WHERE org_id = :org AND kind IN ('form', 'pipeline') AND created_at >= at_micros(:since) AND created_at < at_micros(:until)
    AND (created_at, id) < (at_micros(:after_time), :after_id::bigint)
  ORDER BY created_at DESC, id DESC LIMIT :max_walked::bigint) w
LEFT JOIN pipeline_submissions p ON w.kind = 'pipeline' AND p.shard = w.shard AND p.submission_id = w.id
LEFT JOIN pipeline_versions v ON v.version_id = p.version_id
CROSS JOIN LATERAL (SELECT :status::text IS NULL OR (w.kind = 'form' AND w.state = :status) AS fits) f
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT :most::bigint;
