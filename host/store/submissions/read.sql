-- Reading submissions, their attempts and their places in the queue. Used by read_store.cpp.

-- name: find_submission
-- Reads a submission.
-- takes: shard, org, kind, client_ref
-- returns: {{submission}}
SELECT {{submission}}
FROM submission_states s
WHERE s.shard = :shard AND s.org_id = :org AND s.kind = :kind AND s.client_ref = :client_ref;

-- name: compare_submissions
-- Reads submissions, whether their target and payload are the same as those given, and which of those given they are, from 1 on.
-- The arrays have one element for each submission; `:hashes` are the SHA-256 of the payloads.
-- takes: org, kind, shards, client_refs, targets, hashes
-- returns: {{submission}}, is_same flag, place number
SELECT {{submission}},
       s.target = w.target AND s.payload_hash = w.hash AS is_same,
       w.place
FROM unnest(:shards::smallint[], :client_refs::text[], :targets::text[], :hashes::bytea[])
  WITH ORDINALITY AS w(shard, client_ref, target, hash, place)
JOIN submission_states s ON s.shard = w.shard AND s.org_id = :org AND s.kind = :kind AND s.client_ref = w.client_ref;

-- name: history
-- Reads a submission with all its attempts: one statement, so that state and attempts are of one moment. An intent's only
-- delivery has its submission's id; other deliveries are found by their submission. Unfinished ones are in `ready`, ended ones
-- in `deliveries`. Without an attempt, the columns from `number` on are null, or empty.
-- takes: shard, org, kind, client_ref
-- returns: {{submission}}
-- returns: number number?, started time?, finished time?, outcome text?, attempt_reason text, error text, counts flag?, code number
-- returns: provider_ref text, maybe_sent flag?
SELECT {{submission}},
       a.number,
       micros(a.started_at) AS started,
       micros(a.finished_at) AS finished,
       a.outcome,
       coalesce(a.reason, '') AS attempt_reason,
       coalesce(a.error, '') AS error,
       a.counts,
       coalesce(a.code, 0) AS code,
       coalesce(a.provider_ref, '') AS provider_ref,
       a.maybe_sent
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
WHERE s.shard = :shard AND s.org_id = :org AND s.kind = :kind AND s.client_ref = :client_ref
ORDER BY d.action_order, d.replay, a.number;

-- name: late_failures_of
-- Reads what a provider said of an intent after it had accepted it.
-- takes: shard, org, submission
-- returns: noticed time, status text, failed time?, provider_ref text
SELECT micros(created_at) AS noticed,
       coalesce(metadata ->> 'status', '') AS status,
       micros((metadata ->> 'failedAt')::timestamptz) AS failed,
       coalesce(metadata ->> 'providerRef', '') AS provider_ref
FROM audit_log WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND action = 'not_delivered'
ORDER BY created_at;

-- name: queue_positions
-- Reads where a submission's unfinished deliveries stand in the queue; of a target with a rate, when the last permit that was
-- given out is used up. One row with nulls says that all have ended.
-- takes: shard, org, submission
-- returns: now time, delivery_id number?, route_id number?, action_type text?, status text?, due time?, attempts number?
-- returns: lease_lost number?, claimed_by text, lease_until time?, permits_until time?, hosts number, action_order number?
-- returns: contract text?, claimer_lives flag, ordered_count number?, ordered_per number?, ordered_by text?, ordered_until time?
SELECT micros(now()) AS now,
       r.delivery_id,
       r.route_id,
       s.contract::jsonb ->> 'actionType' AS action_type,
       r.status,
       micros(r.due_at) AS due,
       r.attempt_count AS attempts,
       r.lease_lost,
       coalesce(h.name, '') AS claimed_by,
       micros(r.lease_until) AS lease_until,
       (SELECT micros(t.next_at) FROM target_rates t
        WHERE t.org_id = :org AND t.target = k.target) AS permits_until,
       (SELECT count(*) FROM hosts WHERE host_id = ANY (living.ids) AND name NOT LIKE '%/quarantine') AS hosts,
       r.action_order,
       s.contract,
       coalesce(r.claimed_by = ANY (living.ids), false) AS claimer_lives,
       o.count AS ordered_count,
       o.per AS ordered_per,
       o.actor AS ordered_by,
       micros(o.until) AS ordered_until
FROM (SELECT ARRAY(SELECT host_id FROM living_hosts) AS ids OFFSET 0) living
LEFT JOIN (
  SELECT * FROM ready
  WHERE shard = :shard AND delivery_id = :submission AND submission_id = :submission
  UNION ALL
  SELECT * FROM ready
  WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND delivery_id <> submission_id) r ON true
LEFT JOIN contract_snapshots s ON s.route_id = r.route_id
LEFT JOIN LATERAL (
  SELECT CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END AS target
  FROM (SELECT s.contract::jsonb AS c) j) k ON true
LEFT JOIN rate_orders o ON o.org_id = :org AND o.target = k.target AND (o.until IS NULL OR o.until > now())
LEFT JOIN hosts h ON h.host_id = r.claimed_by
ORDER BY r.action_order, r.replay;

-- name: living_hosts
-- Lists the hosts, without their quarantines, that hold their advisory lock, and what each last said of itself (empty: nothing yet), with the microseconds since
-- then, or since it began; null: it is of an earlier version, which says nothing.
-- returns: name text, told_ago number?, facts text
SELECT h.name,
       micros(now()) - micros(coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END)) AS told_ago,
       coalesce(nullif(f.facts, '{}')::text, '') AS facts
FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id
WHERE h.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts)) AND h.name NOT LIKE '%/quarantine'
ORDER BY h.host_id;

-- name: due_before
-- Counts what is due before a delivery of a route, up to `:most`.
-- takes: shard, route, delivery, most
-- returns: count number
SELECT count(*) AS count FROM (
  SELECT FROM ready
  WHERE shard = :shard AND route_id = :route AND queued AND status IN ('due', 'open')
    AND (due_at, delivery_id) < (SELECT due_at, delivery_id FROM ready WHERE shard = :shard AND delivery_id = :delivery)
  ORDER BY due_at, delivery_id LIMIT :most) ahead;

-- name: in_flight
-- Counts what all hosts have in flight, by what limits it: organisation, target, action type, URL, and whether it is a channel's.
-- returns: org_id number, target text?, action_type text?, url text?, is_channel flag, count number
SELECT org_id,
       contract ->> 'target' AS target,
       contract ->> 'actionType' AS action_type,
       contract ->> 'url' AS url,
       contract ? 'channel' AS is_channel,
       sum(count)::bigint AS count
FROM (SELECT c.org_id, c.count, s.contract::jsonb
      FROM (SELECT route_id, org_id, count(*) FROM claimed GROUP BY route_id, org_id) c
      JOIN contract_snapshots s USING (route_id)) one
GROUP BY 1, 2, 3, 4, 5;

-- name: cooldowns_of
-- Lists an organisation's targets that are in an outage: they cool down, or their probe has not yet got through.
-- takes: org
-- returns: target text, until time, reason text, since time
SELECT target, micros(until) AS until, reason, micros(since) AS since FROM target_outages WHERE org_id = :org;

-- name: pauses_of
-- Lists an organisation's targets that are paused.
-- takes: org
-- returns: target text, since time, reason text, actor text
SELECT target, micros(since) AS since, reason, actor FROM target_pauses WHERE org_id = :org;

-- name: host_findings_of
-- Lists what single hosts find unreachable of an organisation's targets, and, with nulls, the hosts that are cut off.
-- takes: org
-- returns: name text, target text?, since time?, reason text?
SELECT h.name, f.target, micros(f.since) AS since, f.reason FROM host_findings f JOIN hosts h USING (host_id)
WHERE f.org_id = :org AND NOT EXISTS (SELECT FROM target_outages r WHERE r.org_id = f.org_id AND r.target = f.target)
UNION ALL
SELECT h.name, NULL, NULL, NULL FROM cut_off_hosts JOIN hosts h USING (host_id);

-- name: deliveries_of
-- Reads a submission's deliveries, unfinished and ended (see `history`), with their contracts.
-- takes: shard, org, kind, client_ref
-- returns: delivery_id number, submission_id number, action_order number, status text, attempts number, provider_ref text
-- returns: created time, route_id number, contract text
SELECT d.id AS delivery_id,
       s.id AS submission_id,
       d.action_order,
       d.status,
       d.attempt_count AS attempts,
       coalesce(d.provider_ref, '') AS provider_ref,
       micros(s.created_at) AS created,
       d.route_id,
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
WHERE s.shard = :shard AND s.org_id = :org AND s.kind = :kind AND s.client_ref = :client_ref
ORDER BY d.action_order;

-- name: hosts
-- Lists the registered hosts.
-- returns: host_id number, name text
SELECT host_id, name FROM hosts ORDER BY host_id;

-- name: organisation
-- Finds an organisation by its name.
-- takes: name
-- returns: org_id number
SELECT org_id FROM organisations WHERE name = :name;

-- name: moved
-- Finds submissions that have ended or been attempted. `:shards` has one element for each of `:submissions`.
-- takes: shards, submissions
-- returns: id number
SELECT s.id FROM unnest(:shards::smallint[], :submissions::bigint[]) AS t(shard, id)
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
