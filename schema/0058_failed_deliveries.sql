-- Runs beside: 27
--
-- Functions: 6c6812e34a27d9a0b6c37051e61a024260790e7835e42cb6e384e353f78fb453
--
-- What failed for good is found by time, whatever kind it is, and an intent that was exhausted or rejected can be sent again: it becomes a dead
-- letter then, which is replayed. For its client it is what its newest replay ended as; before, that held after `worker_lost` only. A host of
-- an earlier version writes nothing else than before.
--
-- Locks: the view `submission_states`, for a moment. The index of `deliveries` is made beside readers and writers.

CREATE INDEX CONCURRENTLY IF NOT EXISTS deliveries_failed ON deliveries (org_id, ended_at DESC, id DESC) WHERE status IN ('rejected', 'exhausted');

CREATE OR REPLACE VIEW submission_states WITH (security_invoker = true) AS
  SELECT s.shard, s.id, s.org_id, s.kind, s.client_ref, s.pipeline, s.target,
         CASE WHEN s.state <> 'as_delivery' THEN s.state WHEN e.ended_at IS NOT NULL THEN e.status::text
              ELSE coalesce(d.status::text, o.status::text, 'pending') END AS state,
         CASE WHEN s.state <> 'as_delivery' THEN s.reason WHEN e.ended_at IS NOT NULL THEN e.reason ELSE coalesce(d.reason, o.reason) END AS reason,
         s.payload_hash, s.created_at,
         CASE WHEN s.state <> 'as_delivery' THEN s.completed_at ELSE coalesce(e.ended_at, d.ended_at, o.ended_at) END AS completed_at
  FROM submissions s
  LEFT JOIN deliveries d ON s.state = 'as_delivery' AND d.shard = s.shard AND d.id = s.id
  LEFT JOIN deliveries o ON s.state = 'as_delivery' AND d.id IS NULL AND o.shard = s.shard AND o.org_id = s.org_id
    AND o.submission_id = s.id AND o.id <> o.submission_id AND o.action_order = 1 AND o.replay = 0
  LEFT JOIN LATERAL (
    SELECT r.status, r.reason, r.ended_at FROM deliveries r
    WHERE coalesce(d.status, o.status) IN ('rejected', 'exhausted') AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id
      AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
    ORDER BY r.replay DESC LIMIT 1) e ON true;

UPDATE access_rules SET tenant = 'SELECT, INSERT, UPDATE' WHERE table_name = 'dead_letters';
