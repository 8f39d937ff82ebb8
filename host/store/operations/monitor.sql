-- The state of the queue by action type. Used by monitor_store.cpp.

-- name: types_of_queue
-- Counts the queue by action type and status, exactly.
-- returns: action_type text?, status text, count number
SELECT c.contract::json ->> 'actionType' AS action_type, r.status, sum(r.count)::bigint AS count
FROM (SELECT route_id, status, count(*) AS count FROM ready GROUP BY route_id, status) r JOIN contract_snapshots c USING (route_id)
GROUP BY 1, 2;

-- name: types_of_sample
-- The same in a sample of the queue's pages.
-- `:percentage`: of the pages.
-- takes: percentage
-- returns: action_type text?, status text, count number
SELECT c.contract::json ->> 'actionType' AS action_type, r.status, sum(r.count)::bigint AS count
FROM (SELECT route_id, status, count(*) AS count FROM ready TABLESAMPLE SYSTEM (:percentage::real) GROUP BY route_id, status) r
JOIN contract_snapshots c USING (route_id)
GROUP BY 1, 2;

-- name: oldest_by_type
-- Answers, by action type, for how many microseconds the oldest due delivery has waited; no row if nothing of it is due. One probe per
-- route, as oldest_due.
-- returns: action_type text?, waited number
WITH RECURSIVE first AS (
  (SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM first, LATERAL (
    SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') AND (shard, route_id) > (first.shard, first.route_id)
    ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next)
SELECT c.contract::json ->> 'actionType' AS action_type, micros(now()) - micros(min(f.due_at)) AS waited
FROM first f JOIN contract_snapshots c USING (route_id)
WHERE f.due_at <= now() GROUP BY 1;

-- name: newest_ends
-- Counts, by action type, the newest deliveries that have ended, and those of them that failed for good. The newest are those of the
-- newest submissions, so that the index of the primary key finds them without looking at others.
-- `:most`: deliveries looked at in each shard. `:age`: milliseconds; those that ended longer ago do not count.
-- takes: shards, most, age
-- returns: action_type text, ended number, failed number
SELECT d.action_type, count(*) AS ended, count(*) FILTER (WHERE d.status IN ('rejected', 'exhausted')) AS failed
FROM generate_series(0, :shards::integer - 1) AS n(shard), LATERAL (
  SELECT action_type, status, ended_at FROM deliveries x WHERE x.shard = n.shard ORDER BY x.id DESC LIMIT :most::integer) d
WHERE d.ended_at > now() - :age::bigint * interval '1 millisecond' GROUP BY d.action_type;

-- name: overdue
-- Counts the deliveries that are open for longer than the objective, by organisation and target, the longest lists first. Those to channels
-- and of pipelines do not count. What has been due for so long surely is so old; of the rest the submission tells.
-- `:age`: milliseconds. `:percentage`: of the queue's pages; 100: all of them, exactly.
-- takes: age, percentage, most
-- returns: organisation text, target text, count number
SELECT o.name AS organisation, coalesce('form:' || (c.contract::json #>> '{form,id}'), c.contract::json ->> 'target') AS target,
       sum(r.count)::bigint AS count
FROM (SELECT route_id, count(*) AS count FROM ready q TABLESAMPLE SYSTEM (:percentage::real)
      WHERE due_at <= now() - :age::bigint * interval '1 millisecond'
         OR (SELECT created_at FROM submissions s WHERE s.shard = q.shard AND s.id = q.submission_id)
            <= now() - :age::bigint * interval '1 millisecond'
      GROUP BY route_id) r
JOIN contract_snapshots c USING (route_id) JOIN organisations o USING (org_id)
WHERE c.contract::json ->> 'channel' IS NULL AND c.contract::json ->> 'stage' IS NULL
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT :most::integer;

-- name: names_of_organisations
-- Reads the names of organisations.
-- takes: orgs
-- returns: org_id number, name text
SELECT org_id, name FROM organisations WHERE org_id = ANY (:orgs::integer[]);

-- name: waiting_dead_letters
-- Counts the dead letters that nobody has replayed, up to a limit.
-- takes: most
-- returns: count number
SELECT count(*) AS count FROM (SELECT FROM dead_letters WHERE replayed_at IS NULL LIMIT :most::bigint) AS counted;

-- name: cooling_targets
-- Counts the targets, and senders of forms, that cool down.
-- returns: count number
SELECT count(*) AS count FROM target_outages WHERE until > now();

-- name: paused_targets
-- Counts the targets to which operators have stopped sending.
-- returns: count number
SELECT count(*) AS count FROM target_pauses;

-- name: unfinished_of_pipelines
-- Counts pipelines' submissions that have not ended by pipeline and state, of so many at most.
-- takes: most
-- returns: pipeline text, state text, count number
SELECT pipeline, state, count(*) AS count
FROM (SELECT pipeline, state FROM pipeline_submissions WHERE ended_at IS NULL LIMIT :most::bigint) AS counted
GROUP BY 1, 2;

-- name: processing_forms
-- Counts the submissions of forms whose actions are under way, up to a limit.
-- takes: most
-- returns: count number
SELECT count(*) AS count FROM (SELECT FROM form_submissions WHERE processing_since IS NOT NULL LIMIT :most::bigint) AS counted;

-- name: unfinished_of_queue
-- Counts, exactly, intents and notifications that have not ended (their delivery has their id), and submissions of forms that wait for
-- their attachments or to be finalized: all their actions wait, and the first of them counts.
-- returns: intents number, forms number
SELECT count(*) FILTER (WHERE a.delivery_id = a.submission_id) AS intents,
  count(*) FILTER (WHERE a.delivery_id <> a.submission_id AND a.status = 'waiting' AND NOT EXISTS (
    SELECT FROM ready b WHERE b.shard = a.shard AND b.org_id = a.org_id AND b.submission_id = a.submission_id
      AND b.delivery_id <> b.submission_id AND (b.status <> 'waiting' OR b.action_order < a.action_order))) AS forms
FROM ready a;

-- name: unfinished_of_sample
-- The same in a sample of the queue's pages.
-- `:percentage`: of the pages.
-- takes: percentage
-- returns: intents number, forms number
SELECT count(*) FILTER (WHERE a.delivery_id = a.submission_id) AS intents,
  count(*) FILTER (WHERE a.delivery_id <> a.submission_id AND a.status = 'waiting' AND NOT EXISTS (
    SELECT FROM ready b WHERE b.shard = a.shard AND b.org_id = a.org_id AND b.submission_id = a.submission_id
      AND b.delivery_id <> b.submission_id AND (b.status <> 'waiting' OR b.action_order < a.action_order))) AS forms
FROM ready a TABLESAMPLE SYSTEM (:percentage::real);
