-- What waits to be sent, and what operators do about it. Used by waiting_store.cpp.

-- name: waiting_deliveries
-- Reads a page of an organisation's deliveries that wait in the queue and that no host holds, by the time from which they may start, each with
-- its last attempt. It walks an index for each of the newest contracts, up to `:contracts`, and no further than `:max_walked` rows; the row
-- where the walk stopped for that is answered as well, marked as such. The page begins behind a time, `:after_due` (microseconds), and an id,
-- and has `:most` rows at most. `:older_than` is in seconds, of the submission or since its own time. Null allows any value. A target is named as in target_outages.
-- takes: org, target, kind, older_than, after_due, after_id, shards, contracts, most, max_walked
-- returns: now time, delivery_id number, submission_id number, route_id number, kind text, client_ref text, target text, action_type text
-- returns: action_order number, created time, {{terms}}, due time, fits flag, walk_stopped flag, has_begun flag, last_error text, {{history}}
SELECT micros(now()) AS now,
       w.delivery_id,
       w.submission_id,
       w.route_id,
       s.kind,
       s.client_ref,
       w.target,
       w.action_type,
       w.action_order,
       micros(s.created_at) AS created,
       {{terms}},
       micros(w.due_at) AS due,
       f.fits,
       w.place = :max_walked::bigint AS walk_stopped,
       w.composed OR w.progress IS NOT NULL AS has_begun,
       coalesce(a.words, '') AS last_error,
       {{history}}
FROM (
  SELECT x.*, c.target, c.action_type, row_number() OVER (ORDER BY x.due_at, x.delivery_id) AS place
  FROM (
    SELECT route_id, c ->> 'actionType' AS action_type,
           CASE WHEN c ? 'form' THEN 'sender:' || (c ->> 'actionType') ELSE c ->> 'target' END AS target
    FROM (SELECT route_id, contract::jsonb AS c FROM contract_snapshots WHERE org_id = :org ORDER BY route_id DESC LIMIT :contracts::bigint) t) c,
  generate_series(0, :shards::integer - 1) AS n(shard),
  LATERAL (
    SELECT * FROM ready r
    WHERE r.shard = n.shard AND r.route_id = c.route_id AND r.queued AND r.status IN ('due', 'open')
      AND (r.due_at, r.delivery_id) > (at_micros(:after_due), :after_id::bigint)
    ORDER BY r.due_at, r.delivery_id LIMIT :max_walked::bigint) x
  WHERE :target::text IS NULL OR c.target = :target
  ORDER BY x.due_at, x.delivery_id LIMIT :max_walked::bigint) w
JOIN submissions s ON s.shard = w.shard AND s.id = w.submission_id
CROSS JOIN LATERAL (
  SELECT (:kind::text IS NULL OR s.kind = :kind)
         AND (:older_than::bigint IS NULL OR greatest(s.created_at, s.not_before) <= now() - :older_than * interval '1 second') AS fits) f
LEFT JOIN LATERAL (
  SELECT coalesce(t.error, t.reason) AS words FROM attempts t WHERE f.fits AND t.shard = w.shard AND t.delivery_id = w.delivery_id
  ORDER BY t.number DESC LIMIT 1) a ON true
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.due_at, w.delivery_id LIMIT :most::bigint;

-- part: taken_waiting
-- What the settlement of a delivery that was taken needs.
t.delivery_id,
       t.submission_id,
       t.route_id,
       s.kind,
       s.client_ref,
       t.action_order,
       micros(s.created_at) AS created,
       micros(now()) AS now,
       {{history}}
FROM taken t JOIN submissions s ON s.shard = :shard AND s.id = t.submission_id

-- name: take_waiting
-- Claims deliveries for the transaction that ends them, as far as they still wait, with what their settlement needs. Those that another
-- session holds locked, such as a host that claims them, are left out.
-- takes: shard, org, deliveries, token
-- returns: delivery_id number, submission_id number, route_id number, kind text, client_ref text, action_order number, created time, now time
-- returns: {{history}}
WITH taken AS (
  UPDATE ready SET status = 'claimed', claim_token = :token, claimed_at = now(), lease_until = now()
  WHERE shard = :shard AND ctid = ANY (ARRAY(
    SELECT ctid FROM ready
    WHERE shard = :shard AND org_id = :org AND delivery_id = ANY (:deliveries::bigint[]) AND queued AND status IN ('due', 'open')
    FOR UPDATE SKIP LOCKED))
  RETURNING delivery_id, submission_id, route_id, action_order, {{history}})
SELECT {{taken_waiting}};

-- name: take_expired
-- Claims deliveries that wait although their own time is over, for the transaction that ends them, as take_waiting does.
-- takes: shard, most, token
-- returns: delivery_id number, submission_id number, route_id number, kind text, client_ref text, action_order number, created time, now time
-- returns: {{history}}
WITH taken AS (
  UPDATE ready SET status = 'claimed', claim_token = :token, claimed_at = now(), lease_until = now()
  WHERE shard = :shard AND ctid = ANY (ARRAY(
    SELECT ctid FROM ready
    WHERE shard = :shard AND expires_at <= now() AND queued AND status IN ('due', 'open')
    ORDER BY expires_at LIMIT :most::bigint FOR UPDATE SKIP LOCKED))
  RETURNING delivery_id, submission_id, route_id, action_order, {{history}})
SELECT {{taken_waiting}};

-- name: audit_waiting
-- Writes into the audit that an operator ended deliveries.
-- `:deliveries` and `:submissions` have one element each per delivery.
-- takes: shard, org, deliveries, submissions, actor, trigger, reason
INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
SELECT :shard::smallint, submission, now(), :org::integer, delivery, 'waiting_ended', :trigger::text, :actor::text, 'admin',
       jsonb_build_object('reason', :reason::text)
FROM unnest(:deliveries::bigint[], :submissions::bigint[]) AS t(delivery, submission);

-- part: body_of_waiting
-- What the delivery `r` of an intent would send: what an operator gave it, or the body of its submission `s`; null if it is not kept.
CASE WHEN r.edited THEN (SELECT body FROM edited_payloads WHERE shard = :shard AND delivery_id = r.delivery_id) ELSE s.body END

-- name: body_sizes_of_waiting
-- Reads how many bytes deliveries of intents would send; null for what is not kept.
-- takes: shard, org, deliveries
-- returns: delivery_id number, bytes number?
SELECT r.delivery_id,
       octet_length({{body_of_waiting}}) AS bytes
FROM ready r JOIN submissions s ON s.shard = :shard AND s.id = r.submission_id
WHERE r.shard = :shard AND r.org_id = :org AND r.delivery_id = ANY (:deliveries::bigint[]);

-- name: bodies_of_waiting
-- Reads what deliveries of intents would send; null for what is not kept.
-- takes: shard, org, deliveries
-- returns: delivery_id number, body text?
SELECT r.delivery_id,
       convert_from({{body_of_waiting}}, 'UTF8') AS body
FROM ready r JOIN submissions s ON s.shard = :shard AND s.id = r.submission_id
WHERE r.shard = :shard AND r.org_id = :org AND r.delivery_id = ANY (:deliveries::bigint[]);

-- name: reroute_waiting
-- Gives intents' deliveries that wait another route, with their lines in the audit. What went before counts no more: it was another target's
-- doing. What may have been sent, or was begun, stays; what another session holds locked is left out.
-- takes: shard, org, deliveries, route, from_target, to_target, actor, trigger
-- returns: delivery_id number
WITH moved AS (
  UPDATE ready SET route_id = :route, uncounted = attempt_count,
                   due_at = CASE WHEN attempt_count > 0 THEN now() ELSE greatest(due_at, now()) END
  WHERE shard = :shard AND ctid = ANY (ARRAY(
    SELECT ctid FROM ready
    WHERE shard = :shard AND org_id = :org AND delivery_id = ANY (:deliveries::bigint[]) AND queued AND status IN ('due', 'open')
      AND NOT maybe_sent AND NOT composed AND progress IS NULL
    FOR UPDATE SKIP LOCKED))
  RETURNING delivery_id, submission_id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
  SELECT :shard::smallint, submission_id, now(), :org::integer, delivery_id, 'delivery_rerouted', :trigger::text, :actor::text, 'admin',
         jsonb_build_object('from', :from_target::text, 'to', :to_target::text)
  FROM moved)
SELECT delivery_id FROM moved;
