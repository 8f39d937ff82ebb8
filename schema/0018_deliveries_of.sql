-- Runs beside: none
--
-- What ends an intent writes one index entry less: an only delivery has its submission's id and is found by it, in `deliveries` as in
-- `ready` (see 0011). Hosts of an earlier version would find the others without an index.
--
-- Locks: `deliveries` is closed to writers while one index is made, seconds for ten million rows.

DO $$
DECLARE
  one text;
BEGIN
  SELECT conname INTO STRICT one FROM pg_constraint WHERE conrelid = 'deliveries'::regclass AND contype = 'u';
  EXECUTE format('ALTER TABLE deliveries DROP CONSTRAINT %I', one);
END $$;
CREATE UNIQUE INDEX deliveries_of ON deliveries (shard, org_id, submission_id, action_order, replay) WHERE id <> submission_id;

-- What ended an intent: `d`, or `o` of those from before 9, with an id of its own; or `e`, the latest replay that has ended.
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
    WHERE coalesce(d.reason, o.reason) = 'worker_lost' AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id
      AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
    ORDER BY r.replay DESC LIMIT 1) e ON true;
