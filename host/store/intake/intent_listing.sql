-- Noting which intents are whose, for lists. Used by intent_listing.cpp.

-- name: newest_object
-- Answers the last number that an id was made of, and which session of which server asks.
-- returns: newest number, session text
SELECT coalesce(pg_sequence_last_value('object_ids'::regclass), 0) AS newest,
       pg_backend_pid() || '/' || micros(pg_postmaster_start_time()) AS session;

-- name: writers_of_submissions
-- Answers the transactions that may have written to `submissions` and have not ended, and whether some of :known are among them.
-- takes: known
-- returns: writers text, has_known flag
SELECT writers.names::text AS writers, writers.names && :known::text[] AS has_known
FROM (SELECT submission_writers() AS names) writers;

-- name: lock_listing
-- Locks the place up to where intents are listed; no row while another host has it.
-- returns: upto number
SELECT upto FROM listing FOR UPDATE SKIP LOCKED;

-- name: list_next_intents
-- Lists the intents whose ids are above :above, up to :upto.
-- takes: above, upto
INSERT INTO listed_intents (org_id, above, upto, oldest, newest, intents, targets, ids, target_places)
SELECT org_id, :above::bigint, :upto::bigint, min(created_at), max(created_at), count(*),
       array_agg(DISTINCT target COLLATE "C" ORDER BY target COLLATE "C"),
       array_agg(id ORDER BY id DESC), array_agg(place::smallint ORDER BY id DESC)
FROM (SELECT found.*, dense_rank() OVER (PARTITION BY org_id ORDER BY target COLLATE "C") AS place
      FROM installation CROSS JOIN LATERAL generate_series(0, installation.shards - 1) AS of_shard(number)
      CROSS JOIN LATERAL (
        SELECT id, org_id, target, created_at FROM submissions
        WHERE shard = of_shard.number::smallint AND id > :above AND id <= :upto AND kind = 'intent' ORDER BY shard, id) found) ranked
GROUP BY org_id;

-- name: move_listing
-- Records up to where intents are listed.
-- takes: upto
UPDATE listing SET upto = :upto::bigint;

-- name: forget_listed
-- Looks at the next rows of `listed_intents` and deletes those whose intents are all gone. Answers the last one looked at.
-- It begins behind :above of :org; intents are kept for an :age in milliseconds.
-- takes: org, above, age, most
-- returns: org_id number, above number
WITH page AS MATERIALIZED (
  SELECT org_id, above, newest FROM listed_intents WHERE (org_id, above) > (:org::integer, :above::bigint)
  ORDER BY org_id, above LIMIT :most::bigint),
gone AS (
  DELETE FROM listed_intents l USING page p
  WHERE l.org_id = p.org_id AND l.above = p.above AND p.newest < now() - :age::bigint * interval '1 millisecond'
    AND NOT EXISTS (SELECT FROM unnest(l.ids) AS listed(id) JOIN submissions s ON s.shard = (listed.id & 1023)::smallint AND s.id = listed.id))
SELECT org_id, above FROM page ORDER BY org_id DESC, above DESC LIMIT 1;
