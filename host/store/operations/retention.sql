-- Deleting what is old, in small batches. Used by maintenance_store.cpp.

-- name: lock_old
-- Looks at submissions in the order of their ids, which is that of their creation, and locks those past their kind's age, which counts from their
-- own time if they have one, until
-- the transaction ends. What others have locked is left for another time. Answers the last one looked at (0: there was none),
-- whether it is younger than every age, and those locked, as an array. The batch has `:most` rows at most, behind the submission
-- `:after`. `:kinds` and `:ages` (milliseconds) have one element each per kind.
-- takes: shard, after, most, kinds, ages
-- returns: last number, is_over flag, locked text
WITH page AS MATERIALIZED (
  SELECT id, kind, created_at, not_before FROM submissions WHERE shard = :shard AND id > :after ORDER BY id LIMIT :most::integer),
old AS MATERIALIZED (
  SELECT s.id FROM submissions s
  WHERE s.shard = :shard AND s.id = ANY (ARRAY(
    SELECT p.id FROM page p JOIN unnest(:kinds::text[], :ages::bigint[]) AS k(kind, age) ON k.kind = p.kind
    WHERE greatest(p.created_at, p.not_before) < now() - k.age * interval '1 millisecond'))
  FOR UPDATE SKIP LOCKED)
SELECT coalesce((SELECT max(id) FROM page), 0) AS last,
       coalesce((SELECT max(created_at) FROM page) 
                  >= now() - (SELECT min(age) FROM unnest(:ages::bigint[]) AS t(age)) * interval '1 millisecond', true) AS is_over,
       ARRAY(SELECT id FROM old)::text AS locked;

-- name: delete_old
-- Deletes locked submissions with their deliveries and contents. Kept are those with an unfinished delivery or a dead letter.
-- Answers how many were deleted.
-- takes: shard, submissions
-- returns: deleted number
SELECT delete_old(:shard::smallint, :submissions::bigint[]) AS deleted;

-- name: delete_old_events
-- Deletes events that were fanned out long ago and that no notification has any more. Answers how many. `:age` is in
-- milliseconds.
-- takes: age, most
-- returns: deleted number
SELECT delete_old_events(:age::bigint * interval '1 millisecond', :most::integer) AS deleted;
