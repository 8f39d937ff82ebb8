-- How work and hosts are, for `waybill doctor`. Used by queue_health.cpp.

-- name: health_of_hosts
-- Lists the registered hosts: whether each holds its lock, the microseconds since it said something of itself, or since it began (null: it
-- is of a version that says nothing), what it said, the schema that it knows, and the registry that it runs by.
-- returns: name text, lives flag, told_ago number?, facts text, knows number?, digest text?
SELECT h.name,
       h.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts)) AS lives,
       micros(now()) - micros(coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END)) AS told_ago,
       coalesce(nullif(f.facts, '{}')::text, '') AS facts,
       h.knows,
       r.digest
FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id LEFT JOIN host_registries r ON r.host_id = h.host_id
WHERE h.name NOT LIKE '%/quarantine'
ORDER BY h.host_id LIMIT 1000;

-- name: health_of_outages
-- Lists targets that cool down, the longest outage first, with the microseconds since it began and until the cooldown ends.
-- `:most`: of them.
-- takes: most
-- returns: org text, target text, reason text, began_ago number, ends_in number
SELECT coalesce(o.name, t.org_id::text) AS org,
       t.target,
       t.reason,
       micros(now()) - micros(t.since) AS began_ago,
       micros(t.until) - micros(now()) AS ends_in
FROM target_outages t LEFT JOIN organisations o ON o.org_id = t.org_id
WHERE t.until > now() ORDER BY t.since, t.target LIMIT :most::integer;

-- name: health_of_pauses
-- Lists targets that are paused, the longest first, with the microseconds since.
-- `:most`: of them.
-- takes: most
-- returns: org text, target text, reason text, actor text, began_ago number
SELECT coalesce(o.name, p.org_id::text) AS org, p.target, p.reason, p.actor, micros(now()) - micros(p.since) AS began_ago
FROM target_pauses p LEFT JOIN organisations o ON o.org_id = p.org_id
ORDER BY p.since, p.org_id, p.target LIMIT :most::integer;

-- name: waiting_for_target
-- Counts what waits for a target, up to `:most`, by the newest contracts of its organisation.
-- `:contracts`: looked at. `:cooldown`: a target, sender:<action type>, or channel:<id>.
-- takes: org, cooldown, contracts, most
-- returns: count number
SELECT count(*) AS count FROM (
  SELECT FROM (
    SELECT route_id FROM (
      SELECT route_id, contract::jsonb AS c FROM contract_snapshots
      WHERE org_id = (SELECT org_id FROM organisations WHERE name = :org) ORDER BY route_id DESC LIMIT :contracts::integer) AS newest
    WHERE CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END = :cooldown) AS routes,
  generate_series(0, (SELECT shards - 1 FROM installation)) AS n(shard),
  LATERAL (
    SELECT FROM ready r WHERE r.shard = n.shard AND r.route_id = routes.route_id AND r.queued
    ORDER BY r.due_at, r.delivery_id LIMIT :most::integer) AS waiting
  LIMIT :most::integer) AS counted;

-- name: findings_of_hosts
-- Lists what single hosts cannot reach, which nobody has confirmed, and hosts that reach nothing while others do.
-- returns: host text, target text, reason text, is_cut_off flag, began_ago number
SELECT h.name AS host, f.target, f.reason, false AS is_cut_off, micros(now()) - micros(f.since) AS began_ago
FROM host_findings f JOIN hosts h ON h.host_id = f.host_id WHERE f.until > now()
UNION ALL
SELECT h.name, c.target, '', true, micros(now()) - micros(c.since) FROM cut_off_hosts c JOIN hosts h ON h.host_id = c.host_id
ORDER BY is_cut_off DESC, began_ago DESC LIMIT 20;

-- name: oldest_dead_letter
-- Answers for how many microseconds the oldest of the dead letters that nobody has replayed has waited, of so many at most.
-- takes: most
-- returns: waited number?
SELECT micros(now()) - micros(min(died_at)) AS waited
FROM (SELECT died_at FROM dead_letters WHERE replayed_at IS NULL LIMIT :most::bigint) AS looked_at;

-- name: open_incidents
-- Counts the incidents that are open by kind, with the words of the newest and the microseconds since it.
-- returns: kind text, incidents number, words text, last_ago number
SELECT kind,
       count(*) AS incidents,
       left((array_agg(message ORDER BY last_at DESC))[1], 300) AS words,
       micros(now()) - micros(max(last_at)) AS last_ago
FROM (SELECT kind, message, last_at FROM alerts LIMIT 10000) AS looked_at GROUP BY kind ORDER BY kind;

-- name: ending_tokens
-- Lists tokens that end soon, the first first, with the microseconds until then.
-- `:within`: milliseconds.
-- takes: within
-- returns: org text, name text, ends_in number
SELECT o.name AS org, t.name, micros(t.expires_at) - micros(now()) AS ends_in
FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id
WHERE t.revoked_at IS NULL AND t.expires_at BETWEEN now() AND now() + :within::bigint * interval '1 millisecond'
ORDER BY t.expires_at, t.name LIMIT 20;
