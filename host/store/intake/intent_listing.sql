-- Noting which intents are whose, for lists. Used by intent_listing.cpp.

-- name: newest_object
-- Answers the last number that an id was made of, and which session of which server asks.
SELECT coalesce(pg_sequence_last_value('object_ids'::regclass), 0), pg_backend_pid() || '/' || micros(pg_postmaster_start_time());

-- name: writers_of_submissions
-- Answers the transactions that may have written to `submissions` and have not ended, and whether some of these are among them.
-- $1 transactions
SELECT writers.names::text, writers.names && $1::text[] FROM (SELECT submission_writers() AS names) writers;

-- name: lock_listing
-- Locks the place up to where intents are listed; no row while another host has it.
SELECT upto FROM listing FOR UPDATE SKIP LOCKED;

-- name: list_next_intents
-- Lists the intents in a range of ids.
-- $1 the range begins above this id, $2 its last id
INSERT INTO listed_intents (org_id, above, upto, oldest, newest, intents, targets, ids, target_places)
SELECT org_id, $1::bigint, $2::bigint, min(created_at), max(created_at), count(*),
       array_agg(DISTINCT target COLLATE "C" ORDER BY target COLLATE "C"),
       array_agg(id ORDER BY id DESC), array_agg(place::smallint ORDER BY id DESC)
FROM (SELECT found.*, dense_rank() OVER (PARTITION BY org_id ORDER BY target COLLATE "C") AS place
      FROM installation CROSS JOIN LATERAL generate_series(0, installation.shards - 1) AS of_shard(number)
      CROSS JOIN LATERAL (
        SELECT id, org_id, target, created_at FROM submissions
        WHERE shard = of_shard.number::smallint AND id > $1 AND id <= $2 AND kind = 'intent' ORDER BY shard, id) found) ranked
GROUP BY org_id;

-- name: move_listing
-- Records up to where intents are listed.
-- $1 the id
UPDATE listing SET upto = $1::bigint;

-- name: forget_listed
-- Looks at the next rows of `listed_intents` and deletes those whose intents are all gone. Answers the last one looked at.
-- $1 organisation and $2 id behind which it begins, $3 age that intents are kept for in milliseconds, $4 rows
WITH page AS MATERIALIZED (
  SELECT org_id, above, newest FROM listed_intents WHERE (org_id, above) > ($1::integer, $2::bigint) ORDER BY org_id, above LIMIT $4::bigint),
gone AS (
  DELETE FROM listed_intents l USING page p
  WHERE l.org_id = p.org_id AND l.above = p.above AND p.newest < now() - $3::bigint * interval '1 millisecond'
    AND NOT EXISTS (SELECT FROM unnest(l.ids) AS listed(id) JOIN submissions s ON s.shard = (listed.id & 1023)::smallint AND s.id = listed.id))
SELECT org_id, above FROM page ORDER BY org_id DESC, above DESC LIMIT 1;
