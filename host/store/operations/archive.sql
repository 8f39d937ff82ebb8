-- The archive of pipelines' submissions. Used by archive_store.cpp.

-- name: archivable_ended
-- Lists submissions that ended long enough ago, in the order in which they did, behind a place. `:age` is in milliseconds since
-- their end; the place is a time, `:behind_since` (microseconds), and a submission.
-- takes: shard, age, behind_since, behind_id, most
-- returns: submission_id number, since time
SELECT submission_id, micros(ended_at) AS since FROM pipeline_submissions
WHERE shard = :shard AND ended_at < now() - :age::bigint * interval '1 millisecond'
  AND (ended_at, submission_id) > (at_micros(:behind_since::bigint), :behind_id::bigint)
ORDER BY ended_at, submission_id LIMIT :most;

-- name: archivable_blocked
-- Lists submissions that have waited for a replay for long enough, in the order in which they began to, behind a place. `:age` is
-- in milliseconds since then; the place is a time, `:behind_since` (microseconds), and a submission.
-- takes: shard, age, behind_since, behind_id, most
-- returns: submission_id number, since time
SELECT submission_id, micros(blocked_at) AS since FROM pipeline_submissions
WHERE shard = :shard AND blocked_at < now() - :age::bigint * interval '1 millisecond'
  AND (blocked_at, submission_id) > (at_micros(:behind_since::bigint), :behind_id::bigint)
ORDER BY blocked_at, submission_id LIMIT :most;

-- name: archive_submissions
-- Moves submissions into the archive that are still old enough and in nobody's hands. Answers how many. `:ended_age` is since
-- their end and `:blocked_age` since they began to wait for a replay, in milliseconds; null: never.
-- takes: shard, submissions, ended_age, blocked_age
-- returns: archived number
SELECT archive_submissions(:shard::smallint, :submissions::bigint[], :ended_age::bigint * interval '1 millisecond',
                           :blocked_age::bigint * interval '1 millisecond') AS archived;

-- name: delete_archived
-- Deletes what was archived long ago. Answers how many. `:age` is in milliseconds since then.
-- takes: age, most
-- returns: deleted number
SELECT delete_archived(:age::bigint * interval '1 millisecond', :most::integer) AS deleted;

-- name: archived_submissions
-- Lists an organisation's archived submissions, the newest first. Null allows any value; `:submission` is the id under which it
-- was handed in.
-- takes: org, pipeline, state, reference, submission, most
-- returns: client_ref text, pipeline text, state text, reference text, created time, blocked time?, ended time?, archived time
SELECT client_ref,
       pipeline,
       state,
       coalesce(reference, '') AS reference,
       micros(created_at) AS created,
       micros(blocked_at) AS blocked,
       micros(ended_at) AS ended,
       micros(archived_at) AS archived
FROM archived_submissions
WHERE org_id = :org AND (:pipeline::text IS NULL OR pipeline = :pipeline) AND (:state::text IS NULL OR state = :state)
  AND (:reference::text IS NULL OR reference = :reference) AND (:submission::text IS NULL OR client_ref = :submission)
ORDER BY archived_at DESC, submission_id DESC LIMIT :most;

-- name: archived_submission
-- Reads the record of an archived submission; of several that were handed in under one id, `:submission`, the newest first.
-- takes: org, submission
-- returns: record text, archived time
SELECT record, micros(archived_at) AS archived FROM archived_submissions
WHERE org_id = :org AND client_ref = :submission ORDER BY submission_id DESC;
