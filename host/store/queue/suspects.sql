-- Quarantine: deliveries that may have killed their host are tried alone. Used by suspect_store.cpp. At most one session tries
-- suspects; it holds the advisory lock hashtext('waybill-quarantine:' || schema), 0.

-- name: suspects_wanted
-- Whether there are suspects to try and no host tries them. The lock is tried only if there is something to do, and released
-- with the statement.
-- returns: is_wanted flag
SELECT CASE WHEN EXISTS (SELECT FROM ready WHERE lease_lost > 0 AND status = 'due' AND due_at <= now())
       THEN pg_try_advisory_xact_lock(hashtext('waybill-quarantine:' || current_schema()), 0) ELSE false END AS is_wanted;

-- name: suspects_lead
-- Takes the lock for this session. A session that has the lock gets it again.
-- returns: is_taken flag
SELECT pg_try_advisory_lock(hashtext('waybill-quarantine:' || current_schema()), 0) AS is_taken;

-- name: suspects_end_silent_lead
-- Ends the session that has the lock if it has asked nothing for a whole lease (milliseconds) while a suspect was due: its process hangs. Whoever tries
-- suspects asks for the next one after each.
-- takes: lease
-- returns: ended number
SELECT count(pg_terminate_backend(a.pid)) AS ended
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE EXISTS (SELECT FROM ready WHERE lease_lost > 0 AND status = 'due' AND due_at <= now() - :lease::bigint * interval '1 millisecond')
  AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.objid = 0
  AND l.classid = hashtext('waybill-quarantine:' || current_schema())::oid
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND a.state = 'idle' AND a.state_change < clock_timestamp() - :lease::bigint * interval '1 millisecond';

-- name: suspects_next_due
-- Answers the microseconds until the next suspect is due; no row if there is none.
-- returns: wait number
SELECT greatest(0, micros(min(due_at)) - micros(now())) AS wait FROM ready WHERE lease_lost > 0 AND status = 'due' HAVING count(*) > 0;

-- name: claim_suspect
-- Claims one suspect, as `claim` does. Suspects whose target cools down or is paused wait. :lease is in milliseconds.
-- takes: shard, token, host, lease
-- returns: now time, delivery_id number, submission_id number, org_id number, route_id number, due time, action_order number
-- returns: created time, kind text, client_ref text, body_bytes number?, body text?, media_type text?, artifact text?
-- returns: progress text?, trace text?, {{job_terms}}, {{history}}
WITH claimed AS (
  UPDATE ready SET status = 'claimed', claim_token = :token, claimed_by = :host, claimed_at = now(),
                   lease_until = now() + :lease::bigint * interval '1 millisecond'
  WHERE shard = :shard AND ctid = ANY (ARRAY(
    SELECT r.ctid FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
    WHERE r.shard = :shard AND r.lease_lost > 0 AND r.status = 'due' AND r.due_at <= now()
      AND NOT EXISTS (SELECT FROM target_outages t WHERE t.org_id = r.org_id AND t.until > now()
                        AND t.target IN (c.contract::jsonb ->> 'target', 'sender:' || (c.contract::jsonb ->> 'actionType')))
      AND NOT EXISTS (SELECT FROM target_pauses p WHERE p.org_id = r.org_id
                        AND p.target = CASE WHEN c.contract::jsonb ? 'form' THEN 'sender:' || (c.contract::jsonb ->> 'actionType')
                                            ELSE c.contract::jsonb ->> 'target' END)
    ORDER BY r.due_at, r.delivery_id LIMIT 1 FOR UPDATE OF r SKIP LOCKED))
  RETURNING delivery_id, submission_id, org_id, route_id, due_at, action_order, composed, edited, progress, expires_at, {{history}}),
known AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT :shard::smallint, :token::bigint, :host::integer, now() + :lease::bigint * interval '1 millisecond', array_agg(delivery_id)
  FROM claimed HAVING count(*) > 0)
SELECT micros(clock_timestamp()) AS now, c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at) AS due,
       c.action_order, micros(s.created_at) AS created, s.kind, s.client_ref,
       octet_length(CASE WHEN c.edited THEN e.body ELSE s.body END) AS body_bytes,
       coalesce(convert_from(CASE WHEN c.edited THEN e.body ELSE s.body END, 'UTF8'), notification_body(:shard::smallint, s.id)) AS body,
       a.media_type, encode(a.body, 'hex') AS artifact, c.progress, s.trace, {{job_terms}}, {{history}}
FROM claimed c
JOIN submissions s ON s.shard = :shard AND s.id = c.submission_id
LEFT JOIN edited_payloads e ON c.edited AND e.shard = :shard AND e.delivery_id = c.delivery_id
LEFT JOIN artifacts a ON c.composed AND a.shard = :shard AND a.delivery_id = c.delivery_id;

-- name: accuse
-- Counts a host's death against a delivery that the breadcrumbs name, and quarantines it for :wait milliseconds. One death fewer is counted than ends
-- a delivery: the last one is counted where the delivery can end, after it was tried alone. Answers 1 if it was counted, 0 if
-- the delivery's claim has not been given back yet, 2 if the delivery has moved on.
-- It died in :attempt, before which :counted attempts counted and :lost leases were lost; :most_lost of these end a delivery.
-- takes: shard, delivery, attempt, counted, lost, most_lost, wait
-- returns: verdict number
WITH found AS (
  SELECT status, attempt_count, lease_lost FROM ready
  WHERE shard = :shard AND delivery_id = :delivery AND attempt_count - uncounted = :counted AND lease_lost = :lost FOR UPDATE),
accused AS (
  UPDATE ready r SET lease_lost = least(f.lease_lost + 1, :most_lost::int - 1), queued = false,
                     due_at = now() + :wait::bigint * interval '1 millisecond'
  FROM found f WHERE r.shard = :shard AND r.delivery_id = :delivery AND f.status = 'due' AND f.attempt_count >= :attempt RETURNING 1)
SELECT CASE WHEN EXISTS (SELECT FROM accused) THEN 1 WHEN EXISTS (SELECT FROM found) THEN 0 ELSE 2 END AS verdict;
