-- What periodic tasks ask and do. Used by maintenance_store.cpp.

-- name: find_unregistered_claims
-- Registers claimed rows whose token is missing from `claims`, with a lease that has ended long ago, so that they are rescued.
-- A claim and its row in `claims` are one commit, so a snapshot that shows only the first has found a claim that was lost.
-- Reads all of the queue: run it rarely. Answers how many deliveries it found.
-- returns: deliveries number
WITH found AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT shard, claim_token, min(claimed_by), timestamptz 'epoch', array_agg(delivery_id) FROM ready r
  WHERE status = 'claimed' AND NOT EXISTS (SELECT FROM claims c WHERE c.shard = r.shard AND c.token = r.claim_token)
  GROUP BY shard, claim_token
  ON CONFLICT DO NOTHING RETURNING cardinality(deliveries) AS rows)
SELECT coalesce(sum(rows), 0) AS deliveries FROM found;

-- name: queue_pages
-- Answers the size of the queue's table in pages.
-- returns: pages number
SELECT pg_relation_size('ready') / current_setting('block_size')::int AS pages;

-- name: queue_state
-- Counts the queue by status, exactly. What waits for its retry is not due.
-- returns: state text, count number
SELECT CASE WHEN status = 'due' AND due_at > now() THEN 'scheduled' ELSE status::text END AS state, count(*) AS count
FROM ready GROUP BY state;

-- name: queue_sample
-- Counts the queue by status in a sample of its pages.
-- `:percentage`: of the pages.
-- takes: percentage
-- returns: state text, count number
SELECT CASE WHEN status = 'due' AND due_at > now() THEN 'scheduled' ELSE status::text END AS state, count(*) AS count
FROM ready TABLESAMPLE SYSTEM (:percentage::real) GROUP BY state;

-- name: queued
-- Counts what is due or claimed, up to a limit.
-- takes: most
-- returns: count number
SELECT count(*) AS count FROM (SELECT FROM ready WHERE queued LIMIT :most::bigint) AS counted;

-- name: claimed_now
-- Counts what is claimed.
-- returns: count number
SELECT count(*) AS count FROM claimed;

-- name: oldest_due
-- Answers for how many microseconds the oldest due delivery has waited; no row if nothing is due. It walks the distinct routes
-- of the partial index with one probe per route and reads each one's first row, which is what an operator watches.
-- returns: waited number
WITH RECURSIVE first AS (
  (SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM first, LATERAL (
    SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') AND (shard, route_id) > (first.shard, first.route_id)
    ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next)
SELECT micros(now()) - micros(min(due_at)) AS waited FROM first HAVING min(due_at) <= now();

-- name: forget_outages
-- Deletes outages whose cooldown ended long ago, what hosts that are gone have found and said, and hosts that were not heard for a month and
-- are not drained. Answers how many outages.
-- `:over_for`: milliseconds since its end.
-- takes: over_for
-- returns: outages number
WITH gone AS (DELETE FROM target_outages WHERE until < now() - :over_for::bigint * interval '1 millisecond' RETURNING 1),
found AS (
  DELETE FROM host_findings f
  WHERE until < now() - :over_for::bigint * interval '1 millisecond'
     OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = f.host_id)),
cut_off AS (DELETE FROM cut_off_hosts c WHERE NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = c.host_id)),
said AS (DELETE FROM host_facts f WHERE NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = f.host_id)),
known AS (
  DELETE FROM known_hosts k
  WHERE heard_at < now() - interval '30 days' AND NOT EXISTS (SELECT FROM host_drains d WHERE d.name = k.name))
SELECT count(*) AS outages FROM gone;

-- name: cut_off
-- Notes that a host reaches nothing while others do.
-- `:since`: microseconds. `:target`: one that another host reaches.
-- takes: host, since, target
INSERT INTO cut_off_hosts (host_id, since, target) VALUES (:host, at_micros(:since::bigint), :target)
ON CONFLICT (host_id) DO NOTHING;

-- name: reaches_again
-- Forgets that a host was cut off, and lets it probe what it found unreachable.
-- takes: host
WITH found AS (UPDATE host_findings SET until = now() WHERE host_id = :host AND until > now())
DELETE FROM cut_off_hosts WHERE host_id = :host;

-- name: is_alone
-- Whether no other host is heard that is not cut off.
-- takes: host
-- returns: is_alone flag
SELECT NOT EXISTS (
  SELECT FROM heard_hosts h
  WHERE host_id <> :host AND NOT EXISTS (SELECT FROM cut_off_hosts c WHERE c.host_id = h.host_id)) AS is_alone;

-- name: make_partitions
-- Makes the monthly partitions of this month and the next two. Answers null, or what could not be done now.
-- returns: postponed text?
SELECT postponed FROM make_partitions_now(2);

-- name: tell_host_facts
-- Writes what a host says of itself. Nothing happens if it is not registered. If the clock was set meanwhile, or nobody could speak
-- for 15 s, what others said as lately as this host moves along: they are heard until they speak themselves, or for 15 s more.
-- `:facts`: a JSON object.
-- takes: host, facts
WITH stepped AS (
  UPDATE host_facts f SET told_at = f.told_at + (now() - own.told_at)
  FROM host_facts own
  WHERE own.host_id = :host AND own.told_at NOT BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds'
    AND f.ctid = ANY (ARRAY(
      SELECT o.ctid FROM host_facts o JOIN host_facts us ON us.host_id = :host
      WHERE o.host_id <> :host AND o.told_at BETWEEN us.told_at - interval '15 seconds' AND us.told_at + interval '15 seconds'
      FOR UPDATE OF o SKIP LOCKED)))
INSERT INTO host_facts (host_id, told_at, facts)
SELECT host_id, now(), :facts::jsonb FROM hosts WHERE host_id = :host
ON CONFLICT (host_id) DO UPDATE SET told_at = excluded.told_at, facts = excluded.facts;

-- name: try_to_store
-- Inserts a submission with 8 KB that do not compress, for a caller who rolls it back. What intake writes besides takes the same
-- locks and needs the same rights, without a row.
-- returns: count number
WITH made AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT 0, id, 1, 'probe', id::text, 'probe', 'probe', 'probe', '\x00', now(),
         (SELECT string_agg(sha256(convert_to(id || '.' || piece, 'UTF8')), ''::bytea) FROM generate_series(1, 256) AS piece)
  FROM (SELECT nextval('object_ids') * 1024 AS id) AS new
  RETURNING id),
queued AS (INSERT INTO ready (org_id) SELECT 0 WHERE false),
known AS (INSERT INTO claims (shard) SELECT 0 WHERE false),
told AS (INSERT INTO audit_log (org_id) SELECT 0 WHERE false),
forms AS (INSERT INTO form_submissions (org_id) SELECT 0 WHERE false),
files AS (INSERT INTO attachments (org_id) SELECT 0 WHERE false),
pipelines AS (INSERT INTO pipeline_submissions (org_id) SELECT 0 WHERE false),
steps AS (INSERT INTO pipeline_steps (org_id) SELECT 0 WHERE false),
events AS (INSERT INTO alert_events (org_id) SELECT 0 WHERE false),
notes AS (INSERT INTO notifications (org_id) SELECT 0 WHERE false)
SELECT count(*) AS count FROM made;

-- name: expired_shards
-- Lists the shards where something waits although its own time is over.
-- returns: shard number
SELECT n.shard FROM installation i CROSS JOIN LATERAL generate_series(0, i.shards - 1) AS n(shard)
WHERE EXISTS (SELECT FROM ready r WHERE r.shard = n.shard AND r.expires_at <= now() AND r.queued AND r.status IN ('due', 'open'));
