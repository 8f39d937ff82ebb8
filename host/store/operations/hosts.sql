-- Hosts by the name that a restart leaves them, and what operators say of them. Used by host_store.cpp and maintenance_store.cpp.

-- part: present
-- The processes that are registered, without quarantines, each with its host's name: that of an earlier version is its machine's.
SELECT coalesce(f.facts ->> 'name', regexp_replace(h.name, ':[0-9]+$', '')) AS name,
       h.host_id, h.name AS process, h.started_at, h.knows, coalesce(nullif(f.facts, '{}')::text, '') AS facts,
       coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END) AS told_at
  FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id WHERE h.name NOT LIKE '%/quarantine'

-- name: hear_host
-- Notes that a host of this name is there. Answers its drain, with nulls if it has none.
-- `:succeeded_at`: microseconds, or null.
-- takes: name, process, version, succeeded_at
-- returns: since time?, reason text?, actor text?
WITH heard AS (
  INSERT INTO known_hosts AS k (name, process, version, heard_at, succeeded_at)
  VALUES (:name, :process, :version, now(), at_micros(:succeeded_at::bigint))
  ON CONFLICT (name) DO UPDATE
  SET process = excluded.process,
      version = excluded.version,
      heard_at = excluded.heard_at,
      succeeded_at = greatest(k.succeeded_at, excluded.succeeded_at))
SELECT micros(d.since) AS since, d.reason, d.actor FROM (SELECT 1) one LEFT JOIN host_drains d ON d.name = :name;

-- name: listed_hosts
-- Lists hosts by name: each process that is registered, and those of which none is.
-- takes: most
-- returns: name text, process text?, lives flag, facts text?, knows number?, started time?, told_ago number?, version text?
-- returns: heard time?, succeeded time?, drain_since time?, drain_reason text?, drain_actor text?, digest text?
WITH present AS ({{present}}),
names AS (
  SELECT name FROM present UNION SELECT name FROM known_hosts UNION SELECT name FROM host_drains ORDER BY name LIMIT :most::integer)
SELECT n.name,
       p.process,
       coalesce(p.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts)), false) AS lives,
       p.facts,
       p.knows,
       micros(p.started_at) AS started,
       micros(now()) - micros(p.told_at) AS told_ago,
       k.version,
       micros(CASE WHEN p.host_id IS NULL THEN k.heard_at ELSE p.told_at END) AS heard,
       micros(k.succeeded_at) AS succeeded,
       micros(d.since) AS drain_since,
       d.reason AS drain_reason,
       d.actor AS drain_actor,
       r.digest
FROM names n
LEFT JOIN present p ON p.name = n.name
LEFT JOIN known_hosts k ON k.name = n.name
LEFT JOIN host_drains d ON d.name = n.name
LEFT JOIN host_registries r ON r.host_id = p.host_id
ORDER BY n.name, p.host_id LIMIT :most::integer;

-- name: name_of_host
-- Answers the name of the host that is called so, or whose process is: null if there is none and never was.
-- takes: called
-- returns: name text?
SELECT coalesce(
  (SELECT p.name FROM ({{present}}) p WHERE p.name = :called OR p.process = :called ORDER BY p.name = :called DESC LIMIT 1),
  (SELECT k.name FROM known_hosts k WHERE k.name = :called OR k.process = :called ORDER BY k.name = :called DESC LIMIT 1),
  (SELECT d.name FROM host_drains d WHERE d.name = :called)) AS name;

-- name: drain_host
-- Keeps a host from claiming, with its line in the audit. A drain that is there stays as it is, and is no row.
-- takes: name, reason, actor, trigger
-- returns: since time
WITH made AS (
  INSERT INTO host_drains (name, reason, actor) VALUES (:name, :reason, :actor) ON CONFLICT DO NOTHING RETURNING since),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), 1, 'host_drained', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('host', :name::text, 'reason', :reason::text)
  FROM made)
SELECT micros(since) AS since FROM made;

-- name: drain_of_host
-- Reads a host's drain; no row if it has none.
-- takes: name
-- returns: since time, reason text, actor text
SELECT micros(since) AS since, reason, actor FROM host_drains WHERE name = :name;

-- name: resume_host
-- Lets a host claim again, with a line in the audit. No row: it had no drain.
-- takes: name, actor, trigger
-- returns: since time, reason text, actor text
WITH gone AS (DELETE FROM host_drains WHERE name = :name RETURNING since, reason, actor),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), 1, 'host_resumed', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('host', :name::text, 'reason', reason)
  FROM gone)
SELECT micros(since) AS since, reason, actor FROM gone;
