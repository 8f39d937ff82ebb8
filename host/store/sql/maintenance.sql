-- What periodic tasks ask and do. Used by maintenance_store.cpp.

-- name: find_unregistered_claims
-- Registers claimed rows whose token is missing from `claims`, with a lease that has ended long ago, so that they are rescued.
-- A claim and its row in `claims` are one commit, so a snapshot that shows only the first has found a claim that was lost.
-- Reads all of the queue: run it rarely. Answers how many deliveries it found.
WITH found AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT shard, claim_token, min(claimed_by), timestamptz 'epoch', array_agg(delivery_id) FROM ready r
  WHERE status = 'claimed' AND NOT EXISTS (SELECT FROM claims c WHERE c.shard = r.shard AND c.token = r.claim_token)
  GROUP BY shard, claim_token
  ON CONFLICT DO NOTHING RETURNING cardinality(deliveries) AS rows)
SELECT coalesce(sum(rows), 0) FROM found;

-- name: queue_pages
-- Answers the size of the queue's table in pages.
SELECT pg_relation_size('ready') / current_setting('block_size')::int;

-- name: queue_state
-- Counts the queue by status, exactly.
SELECT status, count(*) FROM ready GROUP BY status;

-- name: queue_sample
-- Counts the queue by status in a sample of its pages.
-- $1 percentage of the pages
SELECT status, count(*) FROM ready TABLESAMPLE SYSTEM ($1::real) GROUP BY status;

-- name: queued
-- Counts what is due or claimed, up to a limit.
-- $1 the limit
SELECT count(*) FROM (SELECT FROM ready WHERE queued LIMIT $1::bigint) AS counted;

-- name: claimed_now
-- Counts what is claimed.
SELECT count(*) FROM claimed;

-- name: oldest_due
-- Answers for how many microseconds the oldest due delivery has waited; no row if nothing is due. It walks the distinct routes
-- of the partial index with one probe per route and reads each one's first row, which is what an operator watches.
WITH RECURSIVE first AS (
  (SELECT shard, route_id, due_at FROM ready WHERE queued AND status <> 'claimed' ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM first, LATERAL (
    SELECT shard, route_id, due_at FROM ready WHERE queued AND status <> 'claimed' AND (shard, route_id) > (first.shard, first.route_id)
    ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next)
SELECT micros(now()) - micros(min(due_at)) FROM first HAVING min(due_at) <= now();

-- name: forget_outages
-- Deletes outages whose cooldown ended long ago. Answers how many.
-- $1 milliseconds since its end
WITH gone AS (DELETE FROM target_rests WHERE until < now() - $1::bigint * interval '1 millisecond' RETURNING 1)
SELECT count(*) FROM gone;

-- name: end_outage
-- Ends an outage because an operator says so, and makes due what waited for it. Answers 1, or 0 if there was no such outage.
-- $1 organisation, $2 the key of its cooldown: a target, or sender:<action type>
WITH gone AS (DELETE FROM target_rests WHERE org_id = $1 AND target = $2 RETURNING until),
routes AS (
  SELECT route_id FROM (SELECT route_id, contract::jsonb AS c FROM contract_snapshots WHERE org_id = $1) s
  WHERE CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END = $2),
moved AS (
  UPDATE ready SET due_at = now()
  WHERE route_id = ANY (ARRAY(SELECT route_id FROM routes)) AND status = 'due' AND uncounted > 0 AND due_at > now()
    AND due_at <= (SELECT until FROM gone))
SELECT count(*) FROM gone;

-- name: make_partitions
-- Makes the monthly partitions of this month and the next two. Answers null, or what could not be done now.
SELECT postponed FROM make_partitions_now(2);
