-- Runs beside: 27
--
-- When a submission may be sent at the earliest, from when on not any more, and who handed it in if it did not come over HTTP. A host of an earlier
-- version sends nothing before its time either, but counts deadlines from the submission's creation, and does not know when one expires: replace those first.
--
-- Locks: `submissions`, `ready` and two views, for a moment; nothing is rewritten. The index is made beside readers and writers.

ALTER TABLE submissions ADD COLUMN not_before timestamptz, ADD COLUMN expires_at timestamptz, ADD COLUMN producer text;
ALTER TABLE ready ADD COLUMN expires_at timestamptz;

CREATE INDEX CONCURRENTLY IF NOT EXISTS ready_expires ON ready (shard, expires_at) WHERE expires_at IS NOT NULL AND queued;

CREATE OR REPLACE VIEW submission_states WITH (security_invoker = true) AS
  SELECT s.shard, s.id, s.org_id, s.kind, s.client_ref, s.pipeline, s.target,
         CASE WHEN s.state <> 'as_delivery' THEN s.state WHEN e.ended_at IS NOT NULL THEN e.status::text
              ELSE coalesce(d.status::text, o.status::text, 'pending') END AS state,
         CASE WHEN s.state <> 'as_delivery' THEN s.reason WHEN e.ended_at IS NOT NULL THEN e.reason ELSE coalesce(d.reason, o.reason) END AS reason,
         s.payload_hash, s.created_at,
         CASE WHEN s.state <> 'as_delivery' THEN s.completed_at ELSE coalesce(e.ended_at, d.ended_at, o.ended_at) END AS completed_at,
         s.not_before, s.expires_at, s.producer
  FROM submissions s
  LEFT JOIN deliveries d ON s.state = 'as_delivery' AND d.shard = s.shard AND d.id = s.id
  LEFT JOIN deliveries o ON s.state = 'as_delivery' AND d.id IS NULL AND o.shard = s.shard AND o.org_id = s.org_id
    AND o.submission_id = s.id AND o.id <> o.submission_id AND o.action_order = 1 AND o.replay = 0
  LEFT JOIN LATERAL (
    SELECT r.status, r.reason, r.ended_at FROM deliveries r
    WHERE coalesce(d.status, o.status) IN ('rejected', 'exhausted') AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id
      AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
    ORDER BY r.replay DESC LIMIT 1) e ON true;

CREATE OR REPLACE VIEW claimed WITH (security_invoker = true) AS
  SELECT r.shard, r.action_order, r.org_id, r.delivery_id, r.submission_id, r.due_at, r.route_id, r.attempt_count, r.claim_token, r.claimed_at,
         r.lease_until, r.claimed_by, r.lease_lost, r.maybe_sent, r.status, r.composed, r.progress, r.edited, r.queued, r.uncounted,
         c.host_id, c.lease_until AS claim_ends, r.expires_at
  FROM claims c CROSS JOIN LATERAL unnest(c.deliveries) AS one(delivery_id)
  JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed';
