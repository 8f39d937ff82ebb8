-- How long the queue is, and what came and went of late. Used by backlog_store.cpp. Each statement looks at a bounded number of rows.

-- name: routes_with_work
-- Lists shards and routes that have work in the queue, one probe of an index for each, of so many at most; and how many were seen. Null allows
-- any value. A target is named as in target_outages.
-- takes: target, action_type, most
-- returns: shard number, route_id number, org_id number, target text, action_type text, contract text, seen number
WITH RECURSIVE found AS (
  (SELECT shard, route_id, 1 AS n FROM ready WHERE queued ORDER BY shard, route_id LIMIT 1)
  UNION ALL
  SELECT next.shard, next.route_id, found.n + 1 FROM found, LATERAL (
    SELECT shard, route_id FROM ready WHERE queued AND (shard, route_id) > (found.shard, found.route_id)
    ORDER BY shard, route_id LIMIT 1) next
  WHERE found.n < :most::bigint)
SELECT f.shard, f.route_id, c.org_id, k.target, k.action_type, c.contract, (SELECT max(n) FROM found) AS seen
FROM found f
JOIN contract_snapshots c ON c.route_id = f.route_id
CROSS JOIN LATERAL (
  SELECT j ->> 'actionType' AS action_type, CASE WHEN j ? 'form' THEN 'sender:' || (j ->> 'actionType') ELSE j ->> 'target' END AS target
  FROM (SELECT c.contract::jsonb AS j) x) k
WHERE (:target::text IS NULL OR k.target = :target) AND (:action_type::text IS NULL OR k.action_type = :action_type)
ORDER BY f.shard, f.route_id;

-- name: routes_of_org_with_work
-- The same of one organisation, by its newest contracts. LIMIT keeps it to a probe for each: an EXISTS may be joined to the whole queue.
-- takes: org, target, action_type, shards, most
-- returns: shard number, route_id number, org_id number, target text, action_type text, contract text, seen number
SELECT n.shard, c.route_id, :org::integer AS org_id, k.target, k.action_type, c.contract, c.seen
FROM (SELECT route_id, contract, count(*) OVER () AS seen FROM (
        SELECT route_id, contract FROM contract_snapshots WHERE org_id = :org ORDER BY route_id DESC LIMIT :most::bigint) newest) c
CROSS JOIN LATERAL (
  SELECT j ->> 'actionType' AS action_type, CASE WHEN j ? 'form' THEN 'sender:' || (j ->> 'actionType') ELSE j ->> 'target' END AS target
  FROM (SELECT c.contract::jsonb AS j) x) k
CROSS JOIN generate_series(0, :shards::integer - 1) AS n(shard)
CROSS JOIN LATERAL (SELECT FROM ready r WHERE r.shard = n.shard AND r.route_id = c.route_id AND r.queued LIMIT 1) one
WHERE (:target::text IS NULL OR k.target = :target) AND (:action_type::text IS NULL OR k.action_type = :action_type)
ORDER BY n.shard, c.route_id;

-- name: length_of_routes
-- Counts what is queued by route, of `:most` rows altogether.
-- `:shards` and `:routes` have one element each per route.
-- takes: shards, routes, most
-- returns: now time, route_id number, due number, scheduled number, collecting number, claimed number, retries number, oldest_due time?
-- returns: next_scheduled time?, last_scheduled time?
SELECT micros(now()) AS now,
       route_id,
       count(*) FILTER (WHERE status = 'due' AND due_at <= now()) AS due,
       count(*) FILTER (WHERE status = 'due' AND due_at > now()) AS scheduled,
       count(*) FILTER (WHERE status = 'open') AS collecting,
       count(*) FILTER (WHERE status = 'claimed') AS claimed,
       count(*) FILTER (WHERE status = 'due' AND due_at > now() AND attempt_count > 0) AS retries,
       micros(min(due_at) FILTER (WHERE status = 'due' AND due_at <= now())) AS oldest_due,
       micros(min(due_at) FILTER (WHERE status = 'due' AND due_at > now())) AS next_scheduled,
       micros(max(due_at) FILTER (WHERE status = 'due' AND due_at > now())) AS last_scheduled
FROM (
  SELECT w.route_id, x.status, x.due_at, x.attempt_count
  FROM unnest(:shards::smallint[], :routes::integer[]) AS w(shard, route_id),
  LATERAL (
    SELECT r.status, r.due_at, r.attempt_count FROM ready r
    WHERE r.shard = w.shard AND r.route_id = w.route_id AND r.queued ORDER BY r.due_at, r.delivery_id LIMIT :most::bigint) x
  LIMIT :most::bigint) counted
GROUP BY route_id;

-- name: reasons_of_retries
-- Says why the next of what is scheduled failed before, by the last attempts of `:most` deliveries.
-- takes: shards, routes, most
-- returns: reason text, count number
SELECT reason, count(*) AS count
FROM (
  SELECT coalesce(a.reason, split_part(a.error, ':', 1), 'not attempted yet') AS reason
  FROM (
    SELECT w.shard, x.delivery_id
    FROM unnest(:shards::smallint[], :routes::integer[]) AS w(shard, route_id),
    LATERAL (
      SELECT r.delivery_id, r.due_at FROM ready r
      WHERE r.shard = w.shard AND r.route_id = w.route_id AND r.queued AND r.status IN ('due', 'open') AND r.due_at > now()
      ORDER BY r.due_at, r.delivery_id LIMIT :most::bigint) x
    LIMIT :most::bigint) s
  LEFT JOIN LATERAL (
    SELECT t.reason, t.error FROM attempts t WHERE t.shard = s.shard AND t.delivery_id = s.delivery_id ORDER BY t.number DESC LIMIT 1) a ON true) said
GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 20;

-- name: quarantined_of_queue
-- Counts what may have killed its host and is tried alone, of so many at most. Null allows any organisation.
-- takes: org, most
-- returns: count number
SELECT count(*) AS count FROM (
  SELECT FROM ready WHERE lease_lost > 0 AND (:org::integer IS NULL OR org_id = :org) LIMIT :most::bigint) counted;

-- name: arrivals_of_late
-- Counts the deliveries of the newest submissions by route, since a moment within `:window` (milliseconds): later than its beginning if there
-- were more than are looked at. The length of that time, in microseconds, stands in each row; one row with nulls says that nothing arrived.
-- `:most`: submissions looked at in each shard.
-- takes: shards, most, window
-- returns: route_id number?, count number, length number
WITH newest AS MATERIALIZED (
  SELECT s.* FROM generate_series(0, :shards::integer - 1) AS n(shard), LATERAL (
    SELECT shard, id, org_id, created_at FROM submissions x WHERE x.shard = n.shard ORDER BY x.id DESC LIMIT :most::bigint) s
  WHERE s.created_at > now() - :window::bigint * interval '1 millisecond'),
span AS (
  SELECT CASE WHEN count(*) >= :most THEN greatest(1, micros(now()) - micros(min(created_at))) ELSE :window::bigint * 1000 END AS length FROM newest),
arrived AS (
  SELECT d.route_id FROM newest s, LATERAL (
    SELECT route_id FROM ready WHERE shard = s.shard AND delivery_id = s.id AND submission_id = s.id
    UNION ALL
    SELECT route_id FROM ready WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND delivery_id <> submission_id
    UNION ALL
    SELECT route_id FROM deliveries WHERE shard = s.shard AND id = s.id AND submission_id = s.id
    UNION ALL
    SELECT route_id FROM deliveries WHERE shard = s.shard AND org_id = s.org_id AND submission_id = s.id AND id <> submission_id) d)
SELECT a.route_id, coalesce(a.count, 0) AS count, span.length
FROM span LEFT JOIN (SELECT route_id, count(*) AS count FROM arrived GROUP BY route_id) a ON true;

-- name: ends_of_late
-- Counts the newest deliveries that ended by route, since a moment within `:window` (milliseconds): where there were more than are looked at,
-- the median of their ends, since later ones are nearly all among them. The newest are those of the newest submissions. Otherwise as
-- arrivals_of_late.
-- `:most`: deliveries looked at in each shard.
-- takes: shards, most, window
-- returns: route_id number?, count number, length number
WITH newest AS MATERIALIZED (
  SELECT d.* FROM generate_series(0, :shards::integer - 1) AS n(shard), LATERAL (
    SELECT route_id, ended_at FROM deliveries x WHERE x.shard = n.shard ORDER BY x.id DESC LIMIT :most::bigint) d
  WHERE d.ended_at > now() - :window::bigint * interval '1 millisecond'),
since AS (
  SELECT CASE WHEN count(*) >= :most THEN percentile_disc(0.5) WITHIN GROUP (ORDER BY ended_at)
              ELSE now() - :window::bigint * interval '1 millisecond' END AS at FROM newest)
SELECT e.route_id, coalesce(e.count, 0) AS count, greatest(1, micros(now()) - micros(since.at)) AS length
FROM since LEFT JOIN (
  SELECT route_id, count(*) AS count FROM newest, since WHERE ended_at >= since.at GROUP BY route_id) e ON true;

-- name: keys_of_routes
-- Reads the targets of routes, as in target_outages.
-- takes: routes
-- returns: route_id number, org_id number, action_type text, target text
SELECT route_id, org_id, c ->> 'actionType' AS action_type, CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END AS target
FROM (SELECT route_id, org_id, contract::jsonb AS c FROM contract_snapshots WHERE route_id = ANY (:routes::integer[])) t;

-- part: of_org
-- As a range of the key's first column, so that an index serves both: null allows any organisation.
org_id BETWEEN coalesce(:org::integer, 0) AND coalesce(:org::integer, 2147483647)

-- name: stops_of_queue
-- Lists what stops sending: pauses, and outages with what cools down, of so many each at most. Null allows any organisation.
-- takes: org, most
-- returns: org_id number, target text, is_paused flag, reason text, until time?
(SELECT org_id, target, true AS is_paused, reason, NULL::bigint AS until FROM target_pauses
 WHERE {{of_org}} ORDER BY org_id, target LIMIT :most::bigint)
UNION ALL
(SELECT org_id, target, false, reason, micros(until) FROM target_outages
 WHERE {{of_org}} ORDER BY org_id, target LIMIT :most::bigint);

-- name: ordered_rates_of_queue
-- Lists operators' rates in force, of so many at most. Null allows any organisation.
-- takes: org, most
-- returns: org_id number, target text, count number, per number
SELECT org_id, target, count, per FROM rate_orders
WHERE {{of_org}} AND (until IS NULL OR until > now()) ORDER BY org_id, target LIMIT :most::bigint;

-- name: named_organisations
-- Reads the names of organisations, and the time now in each row; one row with nulls says that none was asked for.
-- takes: orgs
-- returns: now time, org_id number?, name text?
SELECT micros(now()) AS now, o.org_id, o.name
FROM (SELECT 1) one LEFT JOIN organisations o ON o.org_id = ANY (:orgs::integer[]);
