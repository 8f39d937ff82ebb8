-- Deliveries that failed for good, whatever kind they are, and what sending them again needs. Used by failed_store.cpp.

-- part: failed_columns
-- What is read of a failed delivery `d` with its submission `s` and its contract `c`.
-- returns: id number, kind text, client_ref text, belongs_to text, target text, action_order number, action_type text, status text
-- returns: reason text, ended time, attempts number
d.id,
       s.kind,
       s.client_ref,
       s.target AS belongs_to,
       c.target,
       d.action_order,
       d.action_type,
       d.status,
       coalesce(d.reason, '') AS reason,
       micros(d.ended_at) AS ended,
       d.attempt_count AS attempts

-- part: of_failed
-- The submission and the contract of a delivery `d`. A target is named as in target_outages.
JOIN submissions s ON s.shard = d.shard AND s.id = d.submission_id
JOIN LATERAL (
  SELECT CASE WHEN j.c ? 'form' THEN 'sender:' || (j.c ->> 'actionType') ELSE j.c ->> 'target' END AS target, j.c ->> 'policy' AS policy
  FROM (SELECT contract::jsonb AS c FROM contract_snapshots t WHERE t.route_id = d.route_id) j) c ON true

-- part: fits_filter
-- Null allows any value.
(:reference::text IS NULL OR s.client_ref = :reference) AND (:target::text IS NULL OR c.target = :target)
           AND (:kind::text IS NULL OR s.kind = :kind) AND (:belongs_to::text IS NULL OR s.target = :belongs_to)
           AND (:reason::text IS NULL OR d.reason = :reason) AND (:status::text IS NULL OR d.status::text = :status)

-- part: sent_again
-- Whether there is a later delivery in the place of `d`.
(EXISTS (SELECT FROM ready r WHERE r.shard = d.shard AND r.org_id = d.org_id AND r.submission_id = d.submission_id
                AND r.action_order = d.action_order AND r.delivery_id <> r.submission_id AND r.replay > d.replay)
        OR EXISTS (SELECT FROM deliveries r WHERE r.shard = d.shard AND r.org_id = d.org_id AND r.submission_id = d.submission_id
                     AND r.action_order = d.action_order AND r.id <> r.submission_id AND r.replay > d.replay))

-- name: failed_deliveries
-- Reads a page of an organisation's deliveries that were rejected or exhausted, newest first, each with its last attempt. It walks an index, and
-- no further than `:max_walked` rows; the row where the walk stopped for that is answered as well, marked as such. They ended at `:since`
-- (microseconds) or later. The page begins behind an end, `:behind_at` (microseconds), and an id, and has `:most` rows at most.
-- takes: org, reference, target, kind, belongs_to, reason, status, since, behind_at, behind_id, most, max_walked
-- returns: {{failed_columns}}, fits flag, walk_stopped flag, is_sent_again flag, tried time?, outcome text, error text, code number?
SELECT {{failed_columns}},
       f.fits,
       d.place = :max_walked::bigint AS walk_stopped,
       f.fits AND {{sent_again}} AS is_sent_again,
       micros(a.started_at) AS tried,
       coalesce(a.outcome, '') AS outcome,
       coalesce(a.error, '') AS error,
       a.code
FROM (
  SELECT *, row_number() OVER (ORDER BY ended_at DESC, id DESC) AS place FROM deliveries
  WHERE org_id = :org AND status IN ('rejected', 'exhausted') AND (ended_at, id) < (at_micros(:behind_at), :behind_id::bigint)
    AND ended_at >= at_micros(:since)
  ORDER BY ended_at DESC, id DESC LIMIT :max_walked::bigint) d
{{of_failed}}
CROSS JOIN LATERAL (SELECT {{fits_filter}} AS fits) f
LEFT JOIN LATERAL (
  SELECT started_at, outcome, error, code FROM attempts t WHERE f.fits AND t.shard = d.shard AND t.delivery_id = d.id
  ORDER BY t.number DESC LIMIT 1) a ON true
WHERE f.fits OR d.place = :max_walked::bigint
ORDER BY d.ended_at DESC, d.id DESC LIMIT :most::bigint;

-- name: failed_to_be_resent
-- Lists failed deliveries in the order in which they are sent again, the oldest first and behind all others those that are not, with what decides that. Null allows any
-- value. They ended at `:since` or later and before `:until`, both in microseconds; of `:ids`, if it is not null, those that are the
-- organisation's. Those that were sent again are listed for ids only. One that may have been sent has an attempt that may have been, or
-- ended after a restore.
-- takes: org, reference, target, kind, belongs_to, reason, status, since, until, ids, rejected_too, maybe_sent_too, most
-- returns: {{failed_columns}}, policy text?, is_sent_again flag, may_be_sent flag
SELECT {{failed_columns}},
       c.policy,
       {{sent_again}} AS is_sent_again,
       coalesce(d.reason, '') = 'restored'
         OR EXISTS (SELECT FROM attempts a WHERE a.shard = d.shard AND a.delivery_id = d.id AND coalesce(a.maybe_sent, true)) AS may_be_sent
FROM deliveries d
{{of_failed}}
WHERE d.org_id = :org AND d.status IN ('rejected', 'exhausted') AND {{fits_filter}}
  AND (:since::bigint IS NULL OR d.ended_at >= at_micros(:since)) AND (:until::bigint IS NULL OR d.ended_at < at_micros(:until))
  AND CASE WHEN :ids::bigint[] IS NULL THEN NOT {{sent_again}} ELSE d.id = ANY (:ids) END
ORDER BY s.kind = 'notification' OR d.status = 'rejected' AND NOT :rejected_too::boolean
           OR coalesce(c.policy, '') = 'one_shot' AND NOT :maybe_sent_too::boolean
              AND EXISTS (SELECT FROM attempts a WHERE a.shard = d.shard AND a.delivery_id = d.id AND coalesce(a.maybe_sent, true)),
         d.ended_at, d.id LIMIT :most::bigint;

-- name: bury_failed
-- Makes failed deliveries of intents dead letters, which they are not by themselves: only a dead letter is replayed. What is one already stays.
-- `:shards` and `:ids` have one element each per delivery.
-- takes: org, shards, ids
INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, died_at)
SELECT d.shard, d.id, d.org_id, d.submission_id, s.kind, s.client_ref, s.target, d.action_order, d.action_type, coalesce(d.reason, ''), d.ended_at
FROM unnest(:shards::smallint[], :ids::bigint[]) AS t(shard, id)
JOIN deliveries d ON d.shard = t.shard AND d.id = t.id AND d.org_id = :org AND d.status IN ('rejected', 'exhausted')
JOIN submissions s ON s.shard = d.shard AND s.id = d.submission_id AND s.kind = 'intent'
ORDER BY d.id
ON CONFLICT DO NOTHING;
