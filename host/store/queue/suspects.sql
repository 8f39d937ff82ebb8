-- Quarantine: deliveries that may have killed their host are tried alone. Used by suspect_store.cpp. At most one session tries
-- suspects; it holds the advisory lock hashtext('waybill-quarantine:' || schema), 0.

-- name: suspects_wanted
-- Whether there are suspects to try and no host tries them. The lock is tried only if there is something to do, and released
-- with the statement.
SELECT CASE WHEN EXISTS (SELECT FROM ready WHERE lease_lost > 0 AND status = 'due' AND due_at <= now())
       THEN pg_try_advisory_xact_lock(hashtext('waybill-quarantine:' || current_schema()), 0) ELSE false END;

-- name: suspects_lead
-- Takes the lock for this session. A session that has the lock gets it again.
SELECT pg_try_advisory_lock(hashtext('waybill-quarantine:' || current_schema()), 0);

-- name: suspects_end_silent_lead
-- Ends the session that has the lock if it has asked nothing for a whole lease while a suspect was due: its process hangs. Whoever tries
-- suspects asks for the next one after each.
-- $1 lease in milliseconds
SELECT count(pg_terminate_backend(a.pid))
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE EXISTS (SELECT FROM ready WHERE lease_lost > 0 AND status = 'due' AND due_at <= now() - $1::bigint * interval '1 millisecond')
  AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.objid = 0
  AND l.classid = hashtext('waybill-quarantine:' || current_schema())::oid
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND a.state = 'idle' AND a.state_change < clock_timestamp() - $1::bigint * interval '1 millisecond';

-- name: suspects_next_due
-- Answers the microseconds until the next suspect is due; no row if there is none.
SELECT greatest(0, micros(min(due_at)) - micros(now())) FROM ready WHERE lease_lost > 0 AND status = 'due' HAVING count(*) > 0;

-- name: claim_suspect
-- Claims one suspect, as `claim` does. Suspects whose target cools down wait.
-- $1 shard, $2 claim token, $3 host, $4 lease in milliseconds
WITH claimed AS (
  UPDATE ready SET status = 'claimed', claim_token = $2, claimed_by = $3, claimed_at = now(),
                   lease_until = now() + $4::bigint * interval '1 millisecond'
  WHERE shard = $1 AND ctid = ANY (ARRAY(
    SELECT r.ctid FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
    WHERE r.shard = $1 AND r.lease_lost > 0 AND r.status = 'due' AND r.due_at <= now()
      AND NOT EXISTS (SELECT FROM target_rests t WHERE t.org_id = r.org_id AND t.until > now()
                        AND t.target IN (c.contract::jsonb ->> 'target', 'sender:' || (c.contract::jsonb ->> 'actionType')))
    ORDER BY r.due_at, r.delivery_id LIMIT 1 FOR UPDATE OF r SKIP LOCKED))
  RETURNING delivery_id, submission_id, org_id, route_id, due_at, action_order, composed, edited, progress, {{history}}),
known AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT $1::smallint, $2::bigint, $3::integer, now() + $4::bigint * interval '1 millisecond', array_agg(delivery_id)
  FROM claimed HAVING count(*) > 0)
SELECT micros(clock_timestamp()), c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at),
       c.action_order, micros(s.created_at), s.kind, s.client_ref, octet_length(CASE WHEN c.edited THEN e.body ELSE s.body END),
       coalesce(convert_from(CASE WHEN c.edited THEN e.body ELSE s.body END, 'UTF8'), notification_body($1::smallint, s.id)),
       a.media_type, encode(a.body, 'hex'), c.progress, {{history}}
FROM claimed c
JOIN submissions s ON s.shard = $1 AND s.id = c.submission_id
LEFT JOIN edited_payloads e ON c.edited AND e.shard = $1 AND e.delivery_id = c.delivery_id
LEFT JOIN artifacts a ON c.composed AND a.shard = $1 AND a.delivery_id = c.delivery_id;

-- name: accuse
-- Counts a host's death against a delivery that the breadcrumbs name, and quarantines it. One death fewer is counted than ends
-- a delivery: the last one is counted where the delivery can end, after it was tried alone. Answers 1 if it was counted, 0 if
-- the delivery's claim has not been given back yet, 2 if the delivery has moved on.
-- $1 shard, $2 delivery, $3 attempt, $4 counted attempts before it, $5 lost leases before it, $6 lost leases that end a
-- delivery, $7 milliseconds until it is tried again
WITH found AS (
  SELECT status, attempt_count, lease_lost FROM ready
  WHERE shard = $1 AND delivery_id = $2 AND attempt_count - uncounted = $4 AND lease_lost = $5 FOR UPDATE),
accused AS (
  UPDATE ready r SET lease_lost = least(f.lease_lost + 1, $6::int - 1), queued = false,
                     due_at = now() + $7::bigint * interval '1 millisecond'
  FROM found f WHERE r.shard = $1 AND r.delivery_id = $2 AND f.status = 'due' AND f.attempt_count >= $3 RETURNING 1)
SELECT CASE WHEN EXISTS (SELECT FROM accused) THEN 1 WHEN EXISTS (SELECT FROM found) THEN 0 ELSE 2 END;
