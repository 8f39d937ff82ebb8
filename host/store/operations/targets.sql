-- What operators say of targets. Used by target_store.cpp.

-- part: routes_of_target
-- The routes that have this cooldown key, and whether attempts that meet an outage count there.
SELECT route_id, c ? 'channel' OR c ->> 'countOutages' = 'true' AS counts
  FROM (SELECT route_id, contract::jsonb AS c FROM contract_snapshots WHERE org_id = :org) s
  WHERE CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END = :target

-- name: pause_target
-- Stops sending to a target, with its line in the audit. A pause that is there stays as it is. Answers whether there is such a target, and
-- the moment of a new pause.
-- `:target`: a target, sender:<action type>, or channel:<id>. `:is_known`: the registry has it.
-- takes: org, target, reason, actor, trigger, is_known
-- returns: is_known flag, since time?
WITH known AS (SELECT :is_known::boolean OR EXISTS ({{routes_of_target}}) AS is_known),
made AS (
  INSERT INTO target_pauses (org_id, target, reason, actor)
  SELECT :org::integer, :target::text, :reason::text, :actor::text FROM known WHERE is_known
  ON CONFLICT DO NOTHING RETURNING since),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), :org::integer, 'target_paused', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('target', :target::text, 'reason', :reason::text)
  FROM made)
SELECT is_known, (SELECT micros(since) FROM made) AS since FROM known;

-- name: pause_of_target
-- Reads the pause of a target; no row if it has none.
-- takes: org, target
-- returns: since time, reason text, actor text
SELECT micros(since) AS since, reason, actor FROM target_pauses WHERE org_id = :org AND target = :target;

-- name: resume_target
-- Ends a target's pause and its outage because an operator says so, with a line in the audit, and makes due what waited for the end of the
-- outage. What single hosts found unreachable ends as well. The attempts of channels count during an outage, and so do those of targets that
-- say so: all that waits for one waits for its destination, or for its own time, which stays. With nulls and zeros for what there was not.
-- `:target`: as in pause_target.
-- takes: org, target, actor, trigger
-- returns: paused time?, pause_reason text?, pause_actor text?, outage time?, outage_reason text?, findings number, made_due number
WITH pause AS (DELETE FROM target_pauses WHERE org_id = :org AND target = :target RETURNING since, reason, actor),
gone AS (DELETE FROM target_outages WHERE org_id = :org AND target = :target RETURNING since, until, reason),
found AS (DELETE FROM host_findings WHERE org_id = :org AND target = :target RETURNING until),
routes AS ({{routes_of_target}}),
moved AS (
  UPDATE ready SET due_at = now()
  WHERE route_id = ANY (ARRAY(SELECT route_id FROM routes)) AND status = 'due' AND due_at > now()
    AND NOT EXISTS (SELECT FROM submissions s WHERE s.shard = ready.shard AND s.id = ready.submission_id AND s.not_before > now())
    AND (uncounted > 0 AND due_at <= (SELECT max(until) FROM (SELECT until FROM gone UNION ALL SELECT until FROM found) ended)
         OR route_id = ANY (ARRAY(SELECT route_id FROM routes WHERE counts)) AND (EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM found)))
  RETURNING 1),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), :org::integer, 'target_resumed', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('target', :target::text, 'pause', (SELECT reason FROM pause), 'outage', (SELECT reason FROM gone))
  WHERE EXISTS (SELECT FROM pause) OR EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM found))
SELECT (SELECT micros(since) FROM pause) AS paused,
       (SELECT reason FROM pause) AS pause_reason,
       (SELECT actor FROM pause) AS pause_actor,
       (SELECT micros(since) FROM gone) AS outage,
       (SELECT reason FROM gone) AS outage_reason,
       (SELECT count(*) FROM found) AS findings,
       (SELECT count(*) FROM moved) AS made_due;

-- name: stopped_targets
-- Lists targets that are paused or in an outage by organisation and name, behind a given one.
-- takes: after_org, after_target, most
-- returns: org_id number, org text, target text, paused time?, pause_reason text?, pause_actor text?, outage time?, outage_reason text?
-- returns: cooldown_until time?
SELECT s.org_id,
       coalesce(o.name, s.org_id::text) AS org,
       s.target,
       micros(max(s.paused)) AS paused,
       max(s.pause_reason) AS pause_reason,
       max(s.actor) AS pause_actor,
       micros(max(s.outage)) AS outage,
       max(s.outage_reason) AS outage_reason,
       micros(max(s.until)) AS cooldown_until
FROM (
  (SELECT org_id, target, since AS paused, reason AS pause_reason, actor, NULL::timestamptz AS outage, NULL AS outage_reason,
          NULL::timestamptz AS until
   FROM target_pauses WHERE (org_id, target) > (:after_org::integer, :after_target::text)
   ORDER BY org_id, target LIMIT :most::integer)
  UNION ALL
  (SELECT org_id, target, NULL, NULL, NULL, since, reason, until
   FROM target_outages WHERE (org_id, target) > (:after_org::integer, :after_target::text)
   ORDER BY org_id, target LIMIT :most::integer)) s
LEFT JOIN organisations o ON o.org_id = s.org_id
GROUP BY s.org_id, o.name, s.target ORDER BY s.org_id, s.target LIMIT :most::integer;

-- name: order_rate
-- Gives a target a rate of an operator's own, in place of an earlier one, with its line in the audit; orders whose time is over go. Answers
-- whether there is such a target, and the order.
-- `:target`: as in pause_target. `:is_known`: the registry has it. :count deliveries in :per microseconds. `:lasts`: seconds; null: until it is
-- cleared.
-- takes: org, target, count, per, lasts, actor, trigger, is_known
-- returns: is_known flag, since time?, until time?
WITH known AS (SELECT :is_known::boolean OR EXISTS ({{routes_of_target}}) AS is_known),
over AS (DELETE FROM rate_orders WHERE until <= now() AND (org_id, target) <> (:org::integer, :target::text)),
made AS (
  INSERT INTO rate_orders (org_id, target, count, per, until, actor)
  SELECT :org::integer, :target::text, :count::integer, :per::bigint, now() + :lasts::bigint * interval '1 second', :actor::text
  FROM known WHERE is_known
  ON CONFLICT (org_id, target) DO UPDATE SET count = excluded.count, per = excluded.per, since = now(), until = excluded.until,
                                             actor = excluded.actor
  RETURNING since, until),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), :org::integer, 'target_rate_ordered', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('target', :target::text, 'count', :count::integer, 'perMicroseconds', :per::bigint, 'until', until)
  FROM made)
SELECT is_known, (SELECT micros(since) FROM made) AS since, (SELECT micros(until) FROM made) AS until FROM known;

-- name: clear_rate
-- Ends an operator's rate for a target, with a line in the audit. Answers it; no row if none is in force.
-- takes: org, target, actor, trigger
-- returns: count number, per number, since time, until time?, actor text
WITH gone AS (DELETE FROM rate_orders WHERE org_id = :org AND target = :target RETURNING *),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), :org::integer, 'target_rate_cleared', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('target', :target::text, 'count', count, 'perMicroseconds', per)
  FROM gone)
SELECT count, per, micros(since) AS since, micros(until) AS until, actor FROM gone WHERE until IS NULL OR until > now();

-- name: rates_in_force
-- Lists operators' rates that are in force, by organisation and target, of so many at most.
-- takes: most
-- returns: org text, target text, count number, per number, since time, until time?, actor text
SELECT coalesce(o.name, r.org_id::text) AS org, r.target, r.count, r.per, micros(r.since) AS since, micros(r.until) AS until, r.actor
FROM rate_orders r LEFT JOIN organisations o ON o.org_id = r.org_id
WHERE r.until IS NULL OR r.until > now()
ORDER BY r.org_id, r.target LIMIT :most::integer;
