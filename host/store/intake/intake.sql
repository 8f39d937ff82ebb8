-- Storing submissions of intents and alerts. Used by intake_store.cpp.

-- name: submit
-- Stores a group of submissions with their deliveries, and claims the deliveries if the caller asks for it: one statement, one
-- commit. It answers the new ones only; the others exist already (see `existing`).
--
-- Items that agree in organisation, kind, pipeline, target and route share one sort, and most groups have a single sort.
-- Payloads and hashes come as one long text each, because cutting bytes is cheaper than reading an array of long texts. Ids
-- follow the order of arrival, which is the order of sending. Rows are inserted in the order of their keys ($17), so that two
-- hosts that get the same items wait for each other at one place only. `IS TRUE` keeps the lookup in `made` a hashed subplan;
-- joins are nested loops here (see Connection::open).
-- $1 shard
-- Per sort: $2 organisation, $3 kind, $4 pipeline, $5 target, $6 route, $16 the key of its cooldown
-- Per item: $7 its sort, counted from 1; $8 client reference, $9 first byte of its payload, $10 bytes, $17 its place in key
-- order
-- $11 all payloads, one behind the other; $12 all SHA-256 hashes, likewise
-- $13 claim token or null, $14 host, $15 lease in milliseconds. Nothing is claimed while a target of the group cools down.
WITH item AS MATERIALIZED (
  SELECT *, nextval('object_ids') * 1024 + $1::smallint AS submission_id
  FROM unnest($7::int[], $8::text[], $9::int[], $10::int[], $17::int[]) WITH ORDINALITY
    AS t(sort, client_ref, first_byte, bytes, turn, place)),
made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT $1::smallint, submission_id, ($2::int[])[sort], ($3::text[])[sort], client_ref, ($4::text[])[sort], ($5::text[])[sort],
         'as_delivery', substring($12::bytea, (place * 32 - 31)::int, 32), now(),
         substring((SELECT convert_to($11::text, 'UTF8')), first_byte, bytes)
  FROM (SELECT * FROM item ORDER BY turn) item
  ON CONFLICT (shard, org_id, kind, client_ref) DO NOTHING RETURNING id),
fresh AS MATERIALIZED (SELECT * FROM item WHERE (submission_id IN (SELECT id FROM made)) IS TRUE),
claim AS MATERIALIZED (
  SELECT $13::bigint AS token, $14::int AS host, now() AS at, now() + $15::bigint * interval '1 millisecond' AS ends
  WHERE $13::bigint IS NOT NULL AND NOT EXISTS (
    SELECT FROM unnest($2::int[], $16::text[]) AS sort(org_id, cooldown_key), target_rests t
    WHERE t.org_id = sort.org_id AND t.target = sort.cooldown_key)),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, claim_token, claimed_by, claimed_at,
                     lease_until)
  SELECT $1::smallint, submission_id, ($2::int[])[sort], submission_id, 1, ($6::int[])[sort], now(),
         CASE WHEN (SELECT token FROM claim) IS NULL THEN 'due'::delivery_status ELSE 'claimed'::delivery_status END,
         (SELECT token FROM claim), (SELECT host FROM claim), (SELECT at FROM claim), (SELECT ends FROM claim)
  FROM fresh),
known AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT $1::smallint, token, host, ends, ARRAY(SELECT submission_id FROM fresh) FROM claim WHERE EXISTS (SELECT FROM fresh))
SELECT place, submission_id, (SELECT micros(now())), (SELECT token FROM claim) IS NOT NULL, (SELECT micros(clock_timestamp()))
FROM fresh;

-- name: existing
-- Reads the submissions that have these keys.
-- $1 shard; per key: $2 organisation, $3 kind, $4 client reference
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       s.kind, encode(s.payload_hash, 'hex')
FROM unnest($2::int[], $3::text[], $4::text[]) AS t(org_id, kind, client_ref)
JOIN submission_states s ON s.shard = $1 AND s.org_id = t.org_id AND s.kind = t.kind AND s.client_ref = t.client_ref;
