-- Everything on record of one submission: what was acknowledged, each attempt, the audit, the end. Used by proof_store.cpp.

-- part: proved
-- What is read of a submission, from the organisation's in the shard.
-- returns: now time, organisation text, kind text, id number, org_id number, client_ref text, target text, state text, reason text
-- returns: created time, completed time?, {{terms}}, content_hash text, body_hash text?, body_bytes number?
micros(now()) AS now,
       (SELECT name FROM organisations WHERE org_id = :org) AS organisation,
       s.kind,
       {{submission}},
       encode(s.payload_hash, 'hex') AS content_hash,
       encode(sha256(b.body), 'hex') AS body_hash,
       octet_length(b.body) AS body_bytes
FROM submission_states s JOIN submissions b ON b.shard = s.shard AND b.id = s.id
WHERE s.shard = :shard AND s.org_id = :org

-- name: proof_submissions
-- Reads the submissions that have a reference: one of each kind at most. Null allows any kind that a client gives references to.
-- takes: shard, org, kind, client_ref
-- returns: {{proved}}
SELECT {{proved}} AND s.client_ref = :client_ref
  AND s.kind = ANY (CASE WHEN :kind::text IS NULL THEN ARRAY['intent', 'form', 'pipeline'] ELSE ARRAY[:kind] END)
ORDER BY s.kind;

-- name: proof_notification
-- The same of a notification, which has no reference but its id.
-- takes: shard, org, id
-- returns: {{proved}}
SELECT {{proved}} AND s.id = :id AND s.kind = 'notification';

-- name: proof_deliveries
-- Reads a submission's deliveries, unfinished and ended (see `history` in read.sql), each with its contract, and with the hashes of what was
-- composed of it and of what an operator gave it in place of the submission's body.
-- takes: shard, org, submission
-- returns: {{action_delivery}}, action_type text, contract text, composed_type text, composed_hash text, edited_hash text
SELECT {{action_delivery}},
       c.contract::jsonb ->> 'actionType' AS action_type,
       c.contract,
       coalesce(a.media_type, '') AS composed_type,
       coalesce(encode(sha256(a.body), 'hex'), '') AS composed_hash,
       coalesce(encode(sha256(e.body), 'hex'), '') AS edited_hash
FROM (
  SELECT shard, delivery_id AS id, action_order, replay, status, NULL AS reason, attempt_count, NULL AS provider_ref, NULL AS result,
         due_at, NULL::timestamptz AS ended_at, route_id
  FROM ready WHERE shard = :shard AND delivery_id = :submission AND submission_id = :submission AND org_id = :org
  UNION ALL
  SELECT shard, delivery_id, action_order, replay, status, NULL, attempt_count, NULL, NULL, due_at, NULL, route_id
  FROM ready WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND delivery_id <> submission_id
  UNION ALL
  SELECT shard, id, action_order, replay, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at, route_id
  FROM deliveries WHERE shard = :shard AND id = :submission AND submission_id = :submission AND org_id = :org
  UNION ALL
  SELECT shard, id, action_order, replay, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at, route_id
  FROM deliveries WHERE shard = :shard AND org_id = :org AND submission_id = :submission AND id <> submission_id) d
JOIN contract_snapshots c ON c.route_id = d.route_id
LEFT JOIN artifacts a ON a.shard = d.shard AND a.delivery_id = d.id
LEFT JOIN edited_payloads e ON e.shard = d.shard AND e.delivery_id = d.id
ORDER BY d.action_order, d.replay, d.id;

-- name: proof_attempts
-- Reads the attempts of deliveries, in order, of so many at most.
-- takes: shard, deliveries, most
-- returns: delivery_id number, {{attempt}}, answer text, sent_hash text, signed_with text
SELECT a.delivery_id,
       {{attempt}},
       coalesce(a.answer::text, '') AS answer,
       coalesce(encode(a.sent_hash, 'hex'), '') AS sent_hash,
       coalesce(a.signed_with, '') AS signed_with
FROM attempts a
WHERE a.shard = :shard AND a.delivery_id = ANY (:deliveries::bigint[])
ORDER BY a.delivery_id, a.number, a.started_at LIMIT :most::bigint;
