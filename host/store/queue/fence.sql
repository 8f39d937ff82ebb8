-- After a restore: what was open at the restored moment may have been sent since. Used by fence_store.cpp, as the tables' owner.

-- name: fence_state
-- The time, when the newest submission came in, and the names of the hosts that live ('' if none does).
-- returns: now time, newest time?, living text
SELECT micros(clock_timestamp()) AS now,
       (SELECT micros(max(newest.created_at)) FROM installation CROSS JOIN LATERAL generate_series(0, installation.shards - 1) AS of_shard(number)
        CROSS JOIN LATERAL (SELECT created_at FROM submissions WHERE shard = of_shard.number::smallint ORDER BY shard, id DESC LIMIT 1) newest) AS newest,
       coalesce((SELECT string_agg(coalesce(h.name, l.host_id::text), ', ' ORDER BY l.host_id)
                 FROM living_hosts l LEFT JOIN hosts h ON h.host_id = l.host_id WHERE l.pid <> pg_backend_pid()), '') AS living;

-- name: begin_fence
-- Notes the moment to which the database was restored, with its line in the audit, and gives out no number of ids that may have been given out
-- since: `:numbers` are left out. A moment that is noted already stays as it is, and no more numbers are left out.
-- takes: restored_to, actor, numbers
-- returns: is_new flag, next_number number?
WITH made AS (
  INSERT INTO restores (restored_to, actor) VALUES (at_micros(:restored_to), :actor) ON CONFLICT DO NOTHING RETURNING restored_to),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), 1, 'restore_fence_begun', 'restore', :actor::text, 'admin', jsonb_build_object('restoredTo', rfc3339(restored_to)) FROM made)
SELECT m.restored_to IS NOT NULL AS is_new,
       CASE WHEN m.restored_to IS NOT NULL THEN setval('object_ids', nextval('object_ids') + :numbers::bigint) END AS next_number
FROM (SELECT 1) one LEFT JOIN made m ON true;

-- name: end_fence
-- The line in the audit of a fence that has come to its end.
-- takes: restored_to, actor, ended, noted
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'restore_fenced', 'restore', :actor, 'admin',
        jsonb_build_object('restoredTo', rfc3339(at_micros(:restored_to)), 'ended', :ended::bigint, 'doubtNoted', :noted::bigint));

-- part: ordered_since
-- Whether somebody ordered the delivery `w` after the restored moment: the replay of a dead letter, or the stage of a pipeline that was run again.
-- An only delivery has its submission's id.
EXISTS (SELECT FROM dead_letters l
        WHERE l.shard = w.shard AND l.replay_delivery = w.delivery_id AND l.replayed_at > at_micros(:restored_to)
          AND l.id IN (SELECT w.submission_id UNION ALL
                       SELECT d.id FROM deliveries d WHERE d.shard = w.shard AND d.org_id = w.org_id AND d.submission_id = w.submission_id
                         AND d.action_order = w.action_order AND d.id <> d.submission_id))
         OR EXISTS (SELECT FROM pipeline_submissions p
                    JOIN pipeline_repairs o ON o.shard = p.shard AND o.submission_id = p.submission_id AND o.step = p.step
                    WHERE p.shard = w.shard AND p.submission_id = w.submission_id AND o.made_at > at_micros(:restored_to))

-- part: could_be_sent
-- A walked delivery w that may have been sent since: what is due later than now has not, unless it had been tried before: an operator may have
-- made it due.
(w.status IN ('waiting', 'open') OR w.due_at <= now() OR w.attempt_count > 0)

-- name: deliveries_in_doubt
-- Lists what must not be sent, since it may have been sent after the restored moment: of policy one_shot, and handed in until then. What somebody
-- ordered after the moment is that person's word. What a living host has claimed is that host's. It walks the key of `ready`, behind the delivery `:after` and no further than
-- `:most` rows; the last row that was looked at is answered as well, marked as not in doubt if it is not.
-- takes: shard, restored_to, after, most
-- returns: now time, delivery_id number, in_doubt flag, org_id number, org text, target text, route_id number, submission_id number
-- returns: created time, kind text, client_ref text, action_order number, {{history}}
WITH walked AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY delivery_id) AS place FROM (
    SELECT * FROM ready WHERE shard = :shard AND delivery_id > :after ORDER BY shard, delivery_id LIMIT :most::bigint) page)
SELECT micros(now()) AS now, w.delivery_id, f.in_doubt, w.org_id, coalesce(o.name, w.org_id::text) AS org,
       coalesce(c.contract::jsonb ->> 'target', '') AS target, w.route_id, w.submission_id,
       micros(s.created_at) AS created, s.kind, s.client_ref, w.action_order, {{history}}
FROM walked w
JOIN submissions s ON s.shard = w.shard AND s.id = w.submission_id
JOIN contract_snapshots c ON c.route_id = w.route_id
LEFT JOIN organisations o ON o.org_id = w.org_id
CROSS JOIN LATERAL (
  SELECT c.contract::jsonb ->> 'policy' = 'one_shot' AND s.created_at <= at_micros(:restored_to)
         AND {{could_be_sent}}
         AND (w.status IN ('waiting', 'due', 'open') OR w.claimed_by <> ALL (ARRAY(SELECT host_id FROM living_hosts)))
         AND NOT ({{ordered_since}}) AS in_doubt) f
WHERE f.in_doubt OR w.place = (SELECT max(place) FROM walked)
ORDER BY w.delivery_id;

-- name: new_fence_token
-- A claim token that no host has: theirs are positive.
-- returns: token number
SELECT -nextval('object_ids') AS token;

-- name: free_for_fence
-- Makes deliveries due that wait for their turn, or that a dead host has claimed.
-- takes: shard, deliveries
UPDATE ready SET status = 'due', queued = lease_lost = 0, claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[])
  AND (status = 'waiting' OR status = 'claimed' AND claimed_by <> ALL (ARRAY(SELECT host_id FROM living_hosts)));

-- name: take_for_fence
-- Claims deliveries for nobody, so that they can be ended as what was claimed is. If that does not come to pass, they are found as those of a
-- dead host are.
-- takes: shard, deliveries, token
-- returns: delivery_id number
UPDATE ready SET status = 'claimed', claim_token = :token, claimed_by = 0, claimed_at = now(), lease_until = now()
WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[]) AND status IN ('due', 'open')
RETURNING delivery_id;

-- name: note_doubt
-- Notes of what may be sent again that it may have been sent: a destination's word that it has it already is evidence of acceptance then, and
-- plugins search before they send. It walks as deliveries_in_doubt does; with `:only_count` nothing is written. Without a row there was none to look at.
-- takes: shard, restored_to, after, most, only_count
-- returns: last number, noted number
WITH walked AS MATERIALIZED (
  SELECT shard, delivery_id, submission_id, route_id, status, maybe_sent, due_at, attempt_count FROM ready
  WHERE shard = :shard AND delivery_id > :after ORDER BY shard, delivery_id LIMIT :most::bigint),
chosen AS MATERIALIZED (
  SELECT w.delivery_id FROM walked w
  JOIN submissions s ON s.shard = w.shard AND s.id = w.submission_id
  JOIN contract_snapshots c ON c.route_id = w.route_id
  WHERE NOT w.maybe_sent AND w.status IN ('waiting', 'due', 'open') AND s.created_at <= at_micros(:restored_to)
    AND {{could_be_sent}} AND c.contract::jsonb ->> 'policy' <> 'one_shot'),
noted AS (
  UPDATE ready r SET maybe_sent = true FROM chosen
  WHERE NOT :only_count::boolean AND r.shard = :shard AND r.delivery_id = chosen.delivery_id AND r.status IN ('waiting', 'due', 'open'))
SELECT max(delivery_id) AS last, (SELECT count(*) FROM chosen) AS noted FROM walked HAVING count(*) > 0;
