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

-- part: resend_columns
-- What is read of a failed delivery that somebody wants to send again. One that may have been sent has an attempt that may have been, or ended
-- after a restore.
-- returns: policy text?, is_sent_again flag, may_be_sent flag
{{failed_columns}},
       c.policy,
       {{sent_again}} AS is_sent_again,
       coalesce(d.reason, '') = 'restored'
         OR EXISTS (SELECT FROM attempts a WHERE a.shard = d.shard AND a.delivery_id = d.id AND coalesce(a.maybe_sent, true)) AS may_be_sent

-- name: failed_to_be_resent
-- Reads a page of failed deliveries to be sent again, the oldest first. It walks an index, and no further than `:max_walked` rows; the row where the
-- walk stopped for that is answered as well, marked as such. Null allows any value. The page begins behind an end, `:behind_at` (microseconds), and
-- an id; they ended before `:until`. Those that were sent again do not fit.
-- takes: org, reference, target, kind, belongs_to, reason, status, behind_at, behind_id, until, max_walked
-- returns: now time, {{failed_columns}}, {{resend_columns}}, fits flag, walk_stopped flag
SELECT micros(now()) AS now,
       {{resend_columns}},
       f.fits,
       d.place = :max_walked::bigint AS walk_stopped
FROM (
  SELECT *, row_number() OVER (ORDER BY ended_at, id) AS place FROM deliveries
  WHERE org_id = :org AND status IN ('rejected', 'exhausted') AND (ended_at, id) > (at_micros(:behind_at), :behind_id::bigint)
    AND ended_at < at_micros(:until)
  ORDER BY ended_at, id LIMIT :max_walked::bigint) d
{{of_failed}}
CROSS JOIN LATERAL (SELECT {{fits_filter}} AND NOT {{sent_again}} AS fits) f
WHERE f.fits OR d.place = :max_walked::bigint
ORDER BY d.ended_at, d.id;

-- name: failed_of_ids
-- Reads those of these failed deliveries that are the organisation's and fit, also those that were sent again, the oldest first. OFFSET keeps it to
-- their keys, whatever there is. They ended at `:since` or later; the rest is as above.
-- takes: org, reference, target, kind, belongs_to, reason, status, since, until, ids
-- returns: {{failed_columns}}, {{resend_columns}}
SELECT {{resend_columns}}
FROM unnest(:ids::bigint[]) AS wanted(id)
CROSS JOIN LATERAL (SELECT * FROM deliveries t WHERE t.shard = (wanted.id & 1023)::smallint AND t.id = wanted.id OFFSET 0) d
{{of_failed}}
WHERE d.org_id = :org AND d.status IN ('rejected', 'exhausted') AND {{fits_filter}}
  AND d.ended_at >= at_micros(:since) AND d.ended_at < at_micros(:until)
ORDER BY d.ended_at, d.id;

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
