-- Pages of submissions, newest first. Used by submission_list.cpp.
--
-- Each looks at a bounded number of rows from the cursor on: however rare what is asked for is, a page costs no more. Where it stopped for
-- that, the next page begins. Those of forms and pipelines walk an index backwards, and answer the row where the walk stopped as well,
-- marked as such. Intents have no index of their own for this, as it would cost intake a tenth.

-- name: list_new_intents
-- Reads a page of an organisation's intents that `listed_intents` does not have yet, by walking the primary key of each shard. It passes over
-- those of others, so what bounds the walk is a range of ids. The last two columns say above which id it has read, and whether
-- `listed_intents` goes on there; without an intent they stand alone.
-- $1 organisation, $2 and $3 created from then on and before then (microseconds), $4 id below which the page begins, $5 numbers of ids to walk
-- at most, $6 rows to answer at most, $7 shards; null allows any: $8 status, $9 targets
WITH walk AS MATERIALIZED (
  SELECT begins.below, greatest(l.upto, begins.below - 1 - $5::bigint * 1024) AS above, l.upto
  FROM (SELECT least($4::bigint, (coalesce(pg_sequence_last_value('object_ids'::regclass), 0) + 1) * 1024) AS below) begins
  CROSS JOIN listing l)
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       walk.above, walk.above <= walk.upto
FROM walk
LEFT JOIN LATERAL (
  SELECT i.* FROM generate_series(0, $7::integer - 1) AS of_shard(number)
  CROSS JOIN LATERAL (
    SELECT * FROM submission_states s
    WHERE s.shard = of_shard.number::smallint AND s.id > walk.above AND s.id < walk.below AND s.org_id = $1 AND s.kind = 'intent'
      AND s.created_at >= at_micros($2) AND s.created_at < at_micros($3)
      AND ($8::text IS NULL OR s.state = $8) AND ($9::text[] IS NULL OR s.target = ANY ($9))
    ORDER BY s.id DESC LIMIT $6::bigint) i
  ORDER BY i.id DESC LIMIT $6::bigint) s ON true
ORDER BY s.id DESC;

-- name: list_listed_intents
-- Reads a page of an organisation's intents from `listed_intents`, newest first. What it looks at is bounded: so many rows of that table, and
-- the intents of those among them that may have some of the times and targets, up to about so many. The last two columns say above which id
-- it has read, and whether that was all; without an intent they stand alone.
-- $1 to $4 as above, $5 intents to look at, about; $6 rows to answer at most, $7 rows of `listed_intents` to look at at most; $8 and $9 as above
WITH looked AS MATERIALIZED (
  SELECT *, coalesce(sum(intents) FILTER (WHERE may_fit) OVER (ORDER BY above DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0)
              < $5::bigint AS is_near
  FROM (SELECT above, intents, targets, ids, target_places,
               newest >= at_micros($2) AND oldest < at_micros($3) AND ($9::text[] IS NULL OR targets && $9) AS may_fit
        FROM listed_intents WHERE org_id = $1 AND above < $4::bigint - 1 ORDER BY above DESC LIMIT $7::bigint) newest_first)
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       reached.above, reached.is_all
FROM (SELECT min(above) FILTER (WHERE is_near) AS above, bool_and(is_near) IS NOT FALSE AND count(*) < $7::bigint AS is_all
      FROM looked) reached
LEFT JOIN LATERAL (
  SELECT i.* FROM (
    SELECT listed.id FROM looked CROSS JOIN LATERAL unnest(looked.ids, looked.target_places) AS listed(id, place)
    WHERE looked.is_near AND looked.may_fit AND listed.id < $4::bigint AND ($9::text[] IS NULL OR looked.targets[listed.place] = ANY ($9))
    ORDER BY listed.id DESC OFFSET 0) found
  JOIN submission_states i ON i.shard = (found.id & 1023)::smallint AND i.id = found.id
  WHERE i.org_id = $1 AND i.created_at >= at_micros($2) AND i.created_at < at_micros($3) AND ($8::text IS NULL OR i.state = $8)
  ORDER BY found.id DESC LIMIT $6::bigint) s ON true
ORDER BY s.id DESC;

-- name: list_forms_of
-- Reads a page of the submissions of one form.
-- $1 organisation, $2 and $3 created from then on and before then, $4 and $5 when created and id of what the page begins behind (times in
-- microseconds); $6 rows to walk at most, $7 rows to answer at most; $8 status, null allows any; $9 form
SELECT w.id, w.org_id, w.client_ref, w.target, w.state, coalesce(w.reason, ''), micros(w.created_at), micros(w.completed_at),
       f.fits, w.place = $6::bigint
FROM (
  SELECT id, org_id, client_ref, target, state, reason, created_at, completed_at,
         row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM submissions
  WHERE org_id = $1 AND kind = 'form' AND target = $9 AND created_at >= at_micros($2) AND created_at < at_micros($3)
    AND (created_at, id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, id DESC LIMIT $6::bigint) w
CROSS JOIN LATERAL (SELECT $8::text IS NULL OR w.state = $8 AS fits) f
WHERE f.fits OR w.place = $6::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT $7::bigint;

-- name: list_submissions
-- Reads a page of an organisation's submissions of forms and of pipelines; with a status, of forms only. What only a pipeline's has
-- follows: version, metadata, end, since when it is blocked.
-- $1 to $8 as above
SELECT w.id, w.org_id, w.client_ref, w.target, w.state, coalesce(w.reason, ''), micros(w.created_at), micros(w.completed_at),
       f.fits, w.place = $6::bigint, v.number, p.metadata, micros(p.ended_at), micros(p.blocked_at)
FROM (
  SELECT shard, id, org_id, kind, client_ref, target, state, reason, created_at, completed_at,
         row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM submissions
  WHERE org_id = $1 AND kind IN ('form', 'pipeline') AND created_at >= at_micros($2) AND created_at < at_micros($3)
    AND (created_at, id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, id DESC LIMIT $6::bigint) w
LEFT JOIN pipeline_submissions p ON w.kind = 'pipeline' AND p.shard = w.shard AND p.submission_id = w.id
LEFT JOIN pipeline_versions v ON v.version_id = p.version_id
CROSS JOIN LATERAL (SELECT $8::text IS NULL OR (w.kind = 'form' AND w.state = $8) AS fits) f
WHERE f.fits OR w.place = $6::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT $7::bigint;
