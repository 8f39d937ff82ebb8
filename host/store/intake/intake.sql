-- Storing submissions of intents and alerts. Used by intake_store.cpp.

-- name: submit
-- Stores a group of submissions with their deliveries, and claims the deliveries if the caller asks for it: one statement, one
-- commit. It answers the new ones only; the others exist already (see `existing`).
--
-- Items that agree in organisation, kind, pipeline, target and route share one sort, and most groups have a single sort.
-- Payloads and hashes come as one long text each, because cutting bytes is cheaper than reading an array of long texts. Ids
-- follow the order of arrival, which is the order of sending. Rows are inserted in the order of their keys (:turns), so that two
-- hosts that get the same items wait for each other at one place only. `IS TRUE` keeps the lookup in `made` a hashed subplan;
-- joins are nested loops here (see Connection::open).
-- One element per sort: :orgs, :kinds, :pipelines, :targets, :routes and :cooldown_keys.
-- One element per item: :sorts, counted from 1, :client_refs, :first_bytes and :bytes of the payloads, :turns, the places in key order.
-- :payloads has all payloads, one behind the other, and :hashes all SHA-256 hashes, likewise.
-- :traces has one element per item; null: none of them has one. So have :not_befores, :expires and :handed_in, in microseconds, and :producers.
-- :token may be null; :lease is in milliseconds. Nothing is claimed while a target of the group cools down or is paused, nor what is for later.
-- takes: shard, orgs, kinds, pipelines, targets, routes, sorts, client_refs, first_bytes, bytes, payloads, hashes, token, host, lease
-- takes: cooldown_keys, turns, traces, not_befores, expires, producers, handed_in
-- returns: place number, submission_id number, created time, is_claimed flag, is_later flag, stored time
WITH item AS MATERIALIZED (
  SELECT *, nextval('object_ids') * 1024 + :shard::smallint AS submission_id
  FROM unnest(:sorts::int[], :client_refs::text[], :first_bytes::int[], :bytes::int[], :turns::int[], :traces::text[],
              :not_befores::bigint[], :expires::bigint[], :producers::text[], :handed_in::bigint[]) WITH ORDINALITY
    AS t(sort, client_ref, first_byte, bytes, turn, trace, not_before, expires, producer, handed_in, place)),
made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body, trace, not_before,
                           expires_at, producer)
  SELECT :shard::smallint, submission_id, (:orgs::int[])[sort], (:kinds::text[])[sort], client_ref, (:pipelines::text[])[sort],
         (:targets::text[])[sort], 'as_delivery', substring(:hashes::bytea, (place * 32 - 31)::int, 32),
         coalesce(at_micros(handed_in), now()), substring((SELECT convert_to(:payloads::text, 'UTF8')), first_byte, bytes), trace,
         at_micros(not_before), at_micros(expires), producer
  FROM (SELECT * FROM item ORDER BY turn) item
  ON CONFLICT (shard, org_id, kind, client_ref) DO NOTHING RETURNING id),
fresh AS MATERIALIZED (SELECT *, coalesce(at_micros(not_before) > now(), false) AS is_later FROM item WHERE (submission_id IN (SELECT id FROM made)) IS TRUE),
claim AS MATERIALIZED (
  SELECT :token::bigint AS token, :host::int AS host, now() AS at, now() + :lease::bigint * interval '1 millisecond' AS ends
  WHERE :token::bigint IS NOT NULL AND NOT EXISTS (
    SELECT FROM unnest(:orgs::int[], :cooldown_keys::text[]) AS sort(org_id, cooldown_key), target_outages t
    WHERE t.org_id = sort.org_id AND t.target = sort.cooldown_key)
  AND NOT EXISTS (
    SELECT FROM unnest(:orgs::int[], :cooldown_keys::text[]) AS sort(org_id, cooldown_key), target_pauses p
    WHERE p.org_id = sort.org_id AND p.target = sort.cooldown_key)),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, claim_token, claimed_by, claimed_at,
                     lease_until, expires_at)
  SELECT :shard::smallint, submission_id, (:orgs::int[])[sort], submission_id, 1, (:routes::int[])[sort],
         CASE WHEN is_later THEN at_micros(not_before) ELSE now() END,
         CASE WHEN is_later OR (SELECT token FROM claim) IS NULL THEN 'due'::delivery_status ELSE 'claimed'::delivery_status END,
         CASE WHEN NOT is_later THEN (SELECT token FROM claim) END, CASE WHEN NOT is_later THEN (SELECT host FROM claim) END,
         CASE WHEN NOT is_later THEN (SELECT at FROM claim) END, CASE WHEN NOT is_later THEN (SELECT ends FROM claim) END,
         at_micros(expires)
  FROM fresh),
known AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT :shard::smallint, token, host, ends, ARRAY(SELECT submission_id FROM fresh WHERE NOT is_later)
  FROM claim WHERE EXISTS (SELECT FROM fresh WHERE NOT is_later))
SELECT place,
       submission_id,
       coalesce(handed_in, (SELECT micros(now()))) AS created,
       NOT is_later AND (SELECT token FROM claim) IS NOT NULL AS is_claimed,
       is_later,
       (SELECT micros(clock_timestamp())) AS stored
FROM fresh;

-- name: existing
-- Reads the submissions that have these keys.
-- :orgs, :kinds and :client_refs have one element each per key.
-- takes: shard, orgs, kinds, client_refs
-- returns: {{submission}}
-- returns: kind text, payload_hash text
SELECT {{submission}},
       s.kind,
       encode(s.payload_hash, 'hex') AS payload_hash
FROM unnest(:orgs::int[], :kinds::text[], :client_refs::text[]) AS t(org_id, kind, client_ref)
JOIN submission_states s ON s.shard = :shard AND s.org_id = t.org_id AND s.kind = t.kind AND s.client_ref = t.client_ref;
