-- Reading submissions, their attempts and their places in the queue. Used by read_store.cpp.

-- name: find_submission
-- Reads a submission.
-- $1 shard, $2 organisation, $3 kind, $4 client reference
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at)
FROM submission_states s
WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = $3 AND s.client_ref = $4;

-- name: compare_submissions
-- Reads submissions, whether their target and payload are the same as those given, and which of those given they are, from 1 on.
-- $1 organisation, $2 kind; per submission: $3 shard, $4 client reference, $5 target, $6 SHA-256 of the payload
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       s.target = w.target AND s.payload_hash = w.hash, w.place
FROM unnest($3::smallint[], $4::text[], $5::text[], $6::bytea[]) WITH ORDINALITY AS w(shard, client_ref, target, hash, place)
JOIN submission_states s ON s.shard = w.shard AND s.org_id = $1 AND s.kind = $2 AND s.client_ref = w.client_ref;

-- name: history
-- Reads a submission with all its attempts: one statement, so that state and attempts are of one moment. An intent's only
-- delivery has its submission's id; other deliveries are found by their submission. Unfinished ones are in `ready`, ended ones
-- in `deliveries`.
-- $1 shard, $2 organisation, $3 kind, $4 client reference
SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
       a.number, micros(a.started_at), micros(a.finished_at), a.outcome, coalesce(a.reason, ''), coalesce(a.error, ''), a.counts,
       coalesce(a.code, 0), coalesce(a.provider_ref, ''), a.maybe_sent
FROM submission_states s
LEFT JOIN LATERAL (
  SELECT delivery_id AS id, action_order, replay FROM ready
  WHERE shard = s.shard AND delivery_id = s.id AND submission_id = s.id
  UNION ALL
  SELECT delivery_id AS id, action_order, replay FROM ready
  WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND delivery_id <> submission_id
  UNION ALL
  SELECT id, action_order, replay FROM deliveries
  WHERE shard = s.shard AND id = s.id AND submission_id = s.id
  UNION ALL
  SELECT id, action_order, replay FROM deliveries
  WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND id <> submission_id) d ON true
LEFT JOIN attempts a ON a.shard = s.shard AND a.delivery_id = d.id
WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = $3 AND s.client_ref = $4
ORDER BY d.action_order, d.replay, a.number;

-- name: late_failures_of
-- Reads what a provider said of an intent after it had accepted it.
-- $1 shard, $2 organisation, $3 submission
SELECT micros(created_at), coalesce(metadata ->> 'status', ''), micros((metadata ->> 'failedAt')::timestamptz),
       coalesce(metadata ->> 'providerRef', '')
FROM audit_log WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND action = 'not_delivered' ORDER BY created_at;

-- name: queue_positions
-- Reads where a submission's unfinished deliveries stand in the queue; of a target with a rate, when the last permit that was
-- given out is used up. One row with nulls says that all have ended.
-- $1 shard, $2 organisation, $3 submission
SELECT micros(now()), r.delivery_id, r.route_id, s.contract::jsonb ->> 'actionType', r.status, micros(r.due_at),
       r.attempt_count, r.lease_lost, coalesce(h.name, ''), micros(r.lease_until),
       (SELECT micros(t.next_at) FROM target_rates t WHERE t.org_id = $2 AND t.target = s.contract::jsonb ->> 'target'),
       (SELECT count(*) FROM hosts WHERE host_id = ANY (living.ids)), r.action_order, s.contract,
       coalesce(r.claimed_by = ANY (living.ids), false)
FROM (SELECT ARRAY(SELECT host_id FROM living_hosts) AS ids OFFSET 0) living
LEFT JOIN (
  SELECT * FROM ready
  WHERE shard = $1 AND delivery_id = $3 AND submission_id = $3
  UNION ALL
  SELECT * FROM ready
  WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND delivery_id <> submission_id) r ON true
LEFT JOIN contract_snapshots s ON s.route_id = r.route_id
LEFT JOIN hosts h ON h.host_id = r.claimed_by
ORDER BY r.action_order, r.replay;

-- name: living_hosts
-- Lists the hosts that hold their advisory lock, and what each last said of itself (empty: nothing yet), with the microseconds since
-- then, or since it began; null: it is of an earlier version, which says nothing.
SELECT h.name, micros(now()) - micros(coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END)),
       coalesce(nullif(f.facts, '{}')::text, '')
FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id
WHERE h.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts))
ORDER BY h.host_id;

-- name: due_before
-- Counts what is due before a delivery of a route.
-- $1 shard, $2 route, $3 delivery, $4 the most to count
SELECT count(*) FROM (
  SELECT FROM ready
  WHERE shard = $1 AND route_id = $2 AND queued AND status <> 'claimed'
    AND (due_at, delivery_id) < (SELECT due_at, delivery_id FROM ready WHERE shard = $1 AND delivery_id = $3)
  ORDER BY due_at, delivery_id LIMIT $4) ahead;

-- name: in_flight
-- Counts what all hosts have in flight, by what limits it: organisation, target, action type, URL, and whether it is a channel's.
SELECT org_id, contract ->> 'target', contract ->> 'actionType', contract ->> 'url', contract ? 'channel', sum(count)::bigint
FROM (SELECT c.org_id, c.count, s.contract::jsonb
      FROM (SELECT route_id, org_id, count(*) FROM claimed GROUP BY route_id, org_id) c
      JOIN contract_snapshots s USING (route_id)) one
GROUP BY 1, 2, 3, 4, 5;

-- name: cooldowns_of
-- Lists an organisation's targets that are in an outage: they cool down, or their probe has not yet got through.
-- $1 organisation
SELECT target, micros(until), reason, micros(since) FROM target_rests WHERE org_id = $1;

-- name: host_findings_of
-- Lists what single hosts find unreachable of an organisation's targets, and, with nulls, the hosts that are cut off.
-- $1 organisation
SELECT h.name, f.target, micros(f.since), f.reason FROM host_findings f JOIN hosts h USING (host_id)
WHERE f.org_id = $1 AND NOT EXISTS (SELECT FROM target_rests r WHERE r.org_id = f.org_id AND r.target = f.target)
UNION ALL
SELECT h.name, NULL, NULL, NULL FROM cut_off_hosts JOIN hosts h USING (host_id);

-- name: deliveries_of
-- Reads a submission's deliveries, unfinished and ended (see `history`), with their contracts.
-- $1 shard, $2 organisation, $3 kind, $4 client reference
SELECT d.id, s.id, d.action_order, d.status, d.attempt_count, coalesce(d.provider_ref, ''), micros(s.created_at), d.route_id,
       c.contract
FROM submissions s, LATERAL (
  SELECT delivery_id AS id, action_order, status, attempt_count, NULL AS provider_ref, route_id FROM ready
  WHERE shard = s.shard AND delivery_id = s.id AND submission_id = s.id
  UNION ALL
  SELECT delivery_id AS id, action_order, status, attempt_count, NULL AS provider_ref, route_id FROM ready
  WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND delivery_id <> submission_id
  UNION ALL
  SELECT id, action_order, status, attempt_count, provider_ref, route_id FROM deliveries
  WHERE shard = s.shard AND id = s.id AND submission_id = s.id
  UNION ALL
  SELECT id, action_order, status, attempt_count, provider_ref, route_id FROM deliveries
  WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND id <> submission_id) d
JOIN contract_snapshots c ON c.route_id = d.route_id
WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = $3 AND s.client_ref = $4
ORDER BY d.action_order;

-- name: hosts
-- Lists the registered hosts.
SELECT host_id, name FROM hosts ORDER BY host_id;

-- name: organisation
-- Finds an organisation by its name.
-- $1 name
SELECT org_id FROM organisations WHERE name = $1;

-- name: moved
-- Finds submissions that have ended or been attempted.
-- Per submission: $1 shard, $2 id
SELECT s.id FROM unnest($1::smallint[], $2::bigint[]) AS t(shard, id)
JOIN submission_states s ON s.shard = t.shard AND s.id = t.id
WHERE s.completed_at IS NOT NULL OR EXISTS (
  SELECT FROM LATERAL (
    SELECT delivery_id AS id FROM ready
    WHERE shard = s.shard AND delivery_id = s.id AND submission_id = s.id
    UNION ALL
    SELECT delivery_id AS id FROM ready
    WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND delivery_id <> submission_id
    UNION ALL
    SELECT id FROM deliveries
    WHERE shard = s.shard AND id = s.id AND submission_id = s.id
    UNION ALL
    SELECT id FROM deliveries
    WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND id <> submission_id) d
  JOIN attempts a ON a.shard = s.shard AND a.delivery_id = d.id);
