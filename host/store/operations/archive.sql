-- The archive of pipelines' submissions. Used by archive_store.cpp.

-- name: archivable_ended
-- Lists submissions that ended long enough ago, in the order in which they did, behind a place.
-- $1 shard, $2 milliseconds since their end; the place: $3 microseconds, $4 submission; $5 rows
SELECT submission_id, micros(ended_at) FROM pipeline_submissions
WHERE shard = $1 AND ended_at < now() - $2::bigint * interval '1 millisecond'
  AND (ended_at, submission_id) > (at_micros($3::bigint), $4::bigint)
ORDER BY ended_at, submission_id LIMIT $5;

-- name: archivable_blocked
-- Lists submissions that have waited for a replay for long enough, in the order in which they began to, behind a place.
-- $1 shard, $2 milliseconds since then; the place: $3 microseconds, $4 submission; $5 rows
SELECT submission_id, micros(blocked_at) FROM pipeline_submissions
WHERE shard = $1 AND blocked_at < now() - $2::bigint * interval '1 millisecond'
  AND (blocked_at, submission_id) > (at_micros($3::bigint), $4::bigint)
ORDER BY blocked_at, submission_id LIMIT $5;

-- name: archive_submissions
-- Moves submissions into the archive that are still old enough and in nobody's hands. Answers how many.
-- $1 shard, $2 submissions, milliseconds or null for never: $3 since their end, $4 since they began to wait for a replay
SELECT archive_submissions($1::smallint, $2::bigint[], $3::bigint * interval '1 millisecond', $4::bigint * interval '1 millisecond');

-- name: delete_archived
-- Deletes what was archived long ago. Answers how many.
-- $1 milliseconds since then, $2 rows
SELECT delete_archived($1::bigint * interval '1 millisecond', $2::integer);

-- name: archived_submissions
-- Lists an organisation's archived submissions, the newest first.
-- $1 organisation; null for any: $2 pipeline, $3 state, $4 reference, $5 the id under which it was handed in; $6 rows
SELECT client_ref, pipeline, state, coalesce(reference, ''), micros(created_at), micros(blocked_at), micros(ended_at), micros(archived_at)
FROM archived_submissions
WHERE org_id = $1 AND ($2::text IS NULL OR pipeline = $2) AND ($3::text IS NULL OR state = $3) AND ($4::text IS NULL OR reference = $4)
  AND ($5::text IS NULL OR client_ref = $5)
ORDER BY archived_at DESC, submission_id DESC LIMIT $6;

-- name: archived_submission
-- Reads the record of an archived submission; of several that were handed in under one id, the newest first.
-- $1 organisation, $2 the id under which it was handed in
SELECT record, micros(archived_at) FROM archived_submissions WHERE org_id = $1 AND client_ref = $2 ORDER BY submission_id DESC;
