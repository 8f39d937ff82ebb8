-- Deleting what is old, in small batches. Used by maintenance_store.cpp.

-- name: lock_old
-- Looks at submissions in the order of their ids, which is that of their creation, and locks those past their kind's age until
-- the transaction ends. What others have locked is left for another time. Answers the last one looked at (0: there was none),
-- whether it is younger than every age, and those locked.
-- $1 shard, $2 submission behind which the batch begins, $3 rows; per kind: $4 kind, $5 age in milliseconds
WITH page AS MATERIALIZED (
  SELECT id, kind, created_at FROM submissions WHERE shard = $1 AND id > $2 ORDER BY id LIMIT $3::integer),
old AS MATERIALIZED (
  SELECT s.id FROM submissions s
  WHERE s.shard = $1 AND s.id = ANY (ARRAY(
    SELECT p.id FROM page p JOIN unnest($4::text[], $5::bigint[]) AS k(kind, age) ON k.kind = p.kind
    WHERE p.created_at < now() - k.age * interval '1 millisecond'))
  FOR UPDATE SKIP LOCKED)
SELECT coalesce((SELECT max(id) FROM page), 0),
       coalesce((SELECT max(created_at) FROM page) >= now() - (SELECT min(age) FROM unnest($5::bigint[]) AS t(age)) * interval '1 millisecond', true),
       ARRAY(SELECT id FROM old)::text;

-- name: delete_old
-- Deletes locked submissions with their deliveries and contents. Kept are those with an unfinished delivery or a dead letter.
-- Answers how many were deleted.
-- $1 shard, $2 submissions
SELECT delete_old($1::smallint, $2::bigint[]);

-- name: delete_old_events
-- Deletes events that were fanned out long ago and that no notification has any more. Answers how many.
-- $1 age in milliseconds, $2 rows
SELECT delete_old_events($1::bigint * interval '1 millisecond', $2::integer);
