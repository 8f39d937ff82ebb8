-- Pages of submissions, newest first. Used by submission_list.cpp.
--
-- Each walks an index backwards from the cursor, and no further than $6 rows: however rare what is asked for is, a page costs no more.
-- The row where the walk stopped for that is answered as well, marked as such; the next page begins behind it.

-- name: list_intents
-- Reads a page of an organisation's intents.
-- $1 organisation, $2 and $3 created from then on and before then, $4 and $5 when created and id of what the page begins behind (times in
-- microseconds); $6 rows to walk at most, $7 rows to answer at most; null allows any: $8 status, $9 targets
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       f.fits, w.place = $6::bigint
FROM (
  SELECT shard, id, created_at, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place FROM submissions
  WHERE org_id = $1 AND kind = 'intent' AND created_at >= at_micros($2) AND created_at < at_micros($3)
    AND (created_at, id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, id DESC LIMIT $6::bigint) w
JOIN submission_states s ON s.shard = w.shard AND s.id = w.id
CROSS JOIN LATERAL (
  SELECT ($8::text IS NULL OR s.state = $8) AND ($9::text[] IS NULL OR s.target = ANY ($9::text[])) AS fits) f
WHERE f.fits OR w.place = $6::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT $7::bigint;

-- name: list_intents_of
-- Reads a page of an organisation's intents for one target.
-- $1 to $8 as above, $9 target
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       f.fits, w.place = $6::bigint
FROM (
  SELECT shard, id, created_at, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place FROM submissions
  WHERE org_id = $1 AND kind = 'intent' AND target = $9 AND created_at >= at_micros($2) AND created_at < at_micros($3)
    AND (created_at, id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, id DESC LIMIT $6::bigint) w
JOIN submission_states s ON s.shard = w.shard AND s.id = w.id
CROSS JOIN LATERAL (SELECT $8::text IS NULL OR s.state = $8 AS fits) f
WHERE f.fits OR w.place = $6::bigint
ORDER BY w.created_at DESC, w.id DESC LIMIT $7::bigint;

-- name: list_forms_of
-- Reads a page of the submissions of one form.
-- $1 to $8 as above, $9 form
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
