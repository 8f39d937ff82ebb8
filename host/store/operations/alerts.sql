-- Incidents from being raised to being closed; stuck work; failures until their digest. Used by alert_store.cpp.

-- name: raise_alert
-- Counts one more occurrence of an incident and begins the incident if there is none.
-- takes: org, kind, about, message
-- returns: raised text?
SELECT raise_alert(:org, :kind, :about, :message) AS raised;

-- name: remind_alert
-- Raises an incident again if its last occurrence was long enough ago.
-- `:apart`: milliseconds between two reminders.
-- takes: org, kind, about, message, apart
-- returns: raised text?
SELECT remind_alert(:org, :kind, :about, :message, :apart::bigint * interval '1 millisecond') AS raised;

-- name: count_new_alerts
-- Answers, per kind, the occurrences that no host has counted into its metrics yet, and marks them as counted. An incident
-- that another session holds is counted next time.
-- returns: kind text, occurrences number
WITH new AS MATERIALIZED (
  SELECT org_id, incident, count, counted FROM alerts WHERE count > counted FOR UPDATE SKIP LOCKED),
done AS (
  UPDATE alerts a SET counted = n.count FROM new n WHERE a.org_id = n.org_id AND a.incident = n.incident
  RETURNING a.kind, n.count - n.counted AS more)
SELECT kind, sum(more)::bigint AS occurrences FROM done GROUP BY kind;

-- name: reserve_alerts
-- Reserves notifications: gives each incident that is due a reference to send under, or one reference for all of an organisation's
-- if there are too many. If too many organisations besides the operator's have some, one is for all of theirs. One host at a time
-- reserves, so that the caps hold for all hosts together. FOR UPDATE reads the newest version of each row and so skips what
-- another host reserved a moment ago. After a restore references are new ones: those of incidents that were open at the restored moment may
-- have been sent since, and a receiver that knows them would drop what is told now.
-- `:quiet`: milliseconds between two notifications of an incident, which is also the window of the caps.
-- `:most`: notifications of an organisation in that window, and organisations besides the operator's; if more are due they are
-- summed up.
-- `:between_summaries`: milliseconds between two such summaries.
-- takes: quiet, most, between_summaries, operator_org
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtext('waybill-alerts:' || current_schema())) AS mine),
due AS MATERIALIZED (
  SELECT a.org_id, a.incident, a.count,
         a.org_id || ':' || a.incident || ':' || micros(a.first_at) || ':' || a.told
           || coalesce((SELECT ':' || micros(max(restored_to)) FROM restores), '') AS key
  FROM alerts a
  WHERE (SELECT mine FROM turn) AND a.telling IS NULL AND a.count > a.told
    AND (a.told_at IS NULL OR a.told_at <= now() - :quiet::bigint * interval '1 millisecond')
  FOR UPDATE SKIP LOCKED),
recent AS MATERIALIZED (
  SELECT org_id, summed, summed_with_others,
         telling IS NOT NULL OR told_at > now() - :between_summaries::bigint * interval '1 millisecond' AS is_fresh
  FROM alerts WHERE telling IS NOT NULL OR told_at > now() - :quiet::bigint * interval '1 millisecond'),
others AS MATERIALIZED (
  SELECT (SELECT count(DISTINCT org_id) FROM (
            SELECT org_id FROM due UNION ALL SELECT org_id FROM recent WHERE NOT summed_with_others) o
          WHERE org_id <> :operator_org) > :most::bigint AS are_many,
         EXISTS (SELECT FROM recent WHERE summed_with_others AND is_fresh) AS have_summary,
         (SELECT string_agg(key, ' ' ORDER BY key) FROM due WHERE org_id <> :operator_org) AS keys),
own AS MATERIALIZED (
  SELECT d.org_id, d.keys,
         d.due + (SELECT count(*) FROM recent r WHERE r.org_id = d.org_id AND NOT r.summed) > :most::bigint AS are_many,
         EXISTS (SELECT FROM recent r
                 WHERE r.org_id = d.org_id AND r.summed AND NOT r.summed_with_others AND r.is_fresh) AS have_summary
  FROM (SELECT org_id, count(*) AS due, string_agg(key, ' ' ORDER BY key) AS keys FROM due GROUP BY org_id) d),
summary AS MATERIALIZED (
  SELECT own.org_id, true AS with_others, true AS is_on, others.have_summary AS must_wait, others.keys
  FROM own, others WHERE own.org_id <> :operator_org AND others.are_many
  UNION ALL
  SELECT own.org_id, false, own.are_many, own.have_summary, own.keys
  FROM own, others WHERE own.org_id = :operator_org OR NOT others.are_many)
UPDATE alerts a
SET telling_count = d.count, summed = s.is_on, summed_with_others = s.with_others,
    telling = CASE WHEN s.is_on THEN 'alerts-' || left(encode(sha256(convert_to(s.keys, 'UTF8')), 'hex'), 32)
                   ELSE 'alert-' || left(encode(sha256(convert_to(d.key, 'UTF8')), 'hex'), 32) END
FROM due d JOIN summary s ON s.org_id = d.org_id
WHERE a.org_id = d.org_id AND a.incident = d.incident AND NOT (s.is_on AND s.must_wait);

-- name: reserved_alerts
-- Lists reserved notifications with their incidents, ordered by reference.
-- returns: telling text?, org_id number, incident text, kind text, message text, telling_count number?, first time, last time
SELECT telling, org_id, incident, kind, message, telling_count, micros(first_at) AS first, micros(last_at) AS last
FROM alerts WHERE telling IS NOT NULL ORDER BY telling, last_at DESC, org_id, incident;

-- name: mark_notification_sent
-- Notes that a notification was handed in. Answers how many incidents it was about.
-- takes: reference
-- returns: incidents number
WITH done AS (
  UPDATE alerts SET told = telling_count, told_at = now(), telling = NULL, telling_count = NULL
  WHERE telling = :reference RETURNING 1)
SELECT count(*) AS incidents FROM done;

-- name: close_alerts
-- Closes incidents about which all was sent and counted and that have been quiet.
-- `:quiet`: milliseconds.
-- takes: quiet
DELETE FROM alerts
WHERE telling IS NULL AND told = count AND counted = count
  AND greatest(last_at, told_at) < now() - :quiet::bigint * interval '1 millisecond';

-- name: stuck_deliveries
-- Finds routes whose oldest due delivery has waited too long although its target neither cools down nor is paused. It walks the distinct
-- routes of the partial index with one probe per route, and reads further rows only where the first one is late. Deliveries of
-- alerts do not count.
-- `:longer_than`: milliseconds. `:most`: counts so many deliveries per route at most.
-- takes: longer_than, most
-- returns: org_id number, target text?, action_type text?, client_ref text, now time, since time, count number, in_flight number
WITH RECURSIVE first AS (
  (SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') ORDER BY shard, route_id, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM first, LATERAL (
    SELECT shard, route_id, due_at FROM ready WHERE queued AND status IN ('due', 'open') AND (shard, route_id) > (first.shard, first.route_id)
    ORDER BY shard, route_id, due_at, delivery_id LIMIT 1) next),
late AS MATERIALIZED (
  SELECT f.shard, f.route_id, c.org_id, c.contract::jsonb AS contract,
         CASE WHEN c.contract::jsonb ? 'form' THEN 'sender:' || (c.contract::jsonb ->> 'actionType')
              ELSE c.contract::jsonb ->> 'target' END AS cooldown_key
  FROM first f JOIN contract_snapshots c ON c.route_id = f.route_id
  WHERE f.due_at < now() - :longer_than::bigint * interval '1 millisecond')
SELECT l.org_id,
       l.contract ->> 'target' AS target,
       l.contract ->> 'actionType' AS action_type,
       oldest.client_ref,
       micros(now()) AS now,
       micros(oldest.due_at) AS since,
       (SELECT count(*) FROM (
          SELECT FROM ready r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
          WHERE r.shard = l.shard AND r.route_id = l.route_id AND r.queued AND r.status IN ('due', 'open') AND s.kind <> 'alert'
            AND r.due_at < now() - :longer_than::bigint * interval '1 millisecond' LIMIT :most) AS counted) AS count,
       (SELECT count(*) FROM claimed r WHERE r.shard = l.shard AND r.route_id = l.route_id) AS in_flight
FROM late l, LATERAL (
  SELECT r.due_at, s.client_ref FROM ready r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
  WHERE r.shard = l.shard AND r.route_id = l.route_id AND r.queued AND r.status IN ('due', 'open') AND s.kind <> 'alert'
    AND r.due_at < now() - :longer_than::bigint * interval '1 millisecond'
  ORDER BY r.due_at, r.delivery_id LIMIT 1) oldest
WHERE NOT EXISTS (SELECT FROM target_outages t WHERE t.org_id = l.org_id AND t.until > now() AND t.target = l.cooldown_key)
  AND NOT EXISTS (SELECT FROM target_pauses p WHERE p.org_id = l.org_id AND p.target = l.cooldown_key);

-- name: stuck_forms
-- Finds forms' submissions that have been processing for too long, per form.
-- `:longer_than`: milliseconds.
-- takes: longer_than
-- returns: org_id number, target text, client_ref text, now time, since time, count number
SELECT s.org_id,
       s.target,
       (array_agg(s.client_ref ORDER BY f.processing_since, s.id))[1] AS client_ref,
       micros(now()) AS now,
       micros(min(f.processing_since)) AS since,
       count(*) AS count
FROM form_submissions f JOIN submissions s ON s.shard = f.shard AND s.id = f.submission_id
WHERE f.processing_since < now() - :longer_than::bigint * interval '1 millisecond'
GROUP BY s.org_id, s.target;

-- name: stuck_scans
-- Finds forms' submissions that were finalized too long ago and still wait for the scan of an attachment, per form. It is too long as well
-- when half the time until the end of their retention is over: without the scan they would be erased unsent.
-- `:longer_than`: milliseconds.
-- takes: longer_than
-- returns: org_id number, target text, client_ref text, now time, since time, count number
SELECT s.org_id,
       s.target,
       (array_agg(s.client_ref ORDER BY f.finalized_at, s.id))[1] AS client_ref,
       micros(now()) AS now,
       micros(min(f.finalized_at)) AS since,
       count(*) AS count
FROM (SELECT DISTINCT shard, submission_id FROM attachments WHERE scan = 'pending') w
JOIN form_submissions f ON f.shard = w.shard AND f.submission_id = w.submission_id
JOIN submissions s ON s.shard = w.shard AND s.id = w.submission_id
WHERE (f.finalized_at < now() - :longer_than::bigint * interval '1 millisecond'
       OR f.finalized_at + (f.retention_expires_at - f.finalized_at) / 2 < now()) AND s.state = 'received'
GROUP BY s.org_id, s.target;

-- name: finished_failures
-- Lists counted failures of periods that are over. A period is left alone for two more seconds: what was settled at its very
-- end may not be committed yet.
-- returns: org_id number, since time, until_at time, action_type text, target text, reason text, count number
SELECT org_id, micros(since) AS since, micros(until) AS until_at, action_type, target, reason, count FROM provider_failures
WHERE until <= now() - interval '2 seconds' ORDER BY org_id, until, count DESC, action_type, target, reason;

-- name: digest_failures
-- Deletes an organisation's counted failures and raises one alert about them, unless another host has done so.
-- One element of each array per row; `:ends`: those of their periods in microseconds.
-- takes: org, ends, action_types, targets, reasons, counts, about, message
-- returns: raised text?
WITH gone AS (
  DELETE FROM provider_failures p
  USING unnest(:ends::bigint[], :action_types::text[], :targets::text[], :reasons::text[], :counts::bigint[])
    AS t(until, action_type, target, reason, count)
  WHERE p.org_id = :org AND p.until = at_micros(t.until) AND p.action_type = t.action_type AND p.target = t.target
    AND p.reason = t.reason AND p.count = t.count
  RETURNING 1)
SELECT raise_alert(:org, 'provider_failures', :about, :message) AS raised WHERE EXISTS (SELECT FROM gone);
