-- Runs beside: none
--
-- Suspects: deliveries that were inside a plugin when their host died. They are tried alone, by a process of its own.

-- `lease_lost` counts only such deaths from now on, and starts again with each attempt whose end was seen. What has such a death against it
-- is a suspect: it leaves the index that hosts claim by.
UPDATE ready SET lease_lost = 0 WHERE lease_lost > 0;
ALTER TABLE ready DROP CONSTRAINT ready_check;
ALTER TABLE ready ADD CHECK (queued AND lease_lost = 0 AND (status = 'claimed' OR status = 'due')
                             OR NOT queued AND (lease_lost > 0 AND (status = 'claimed' OR status = 'due')
                                                OR lease_lost = 0 AND (status = 'waiting' OR status = 'open')));
-- Neither the status nor what else a claim changes may be in it (see 0008).
CREATE INDEX ready_suspects ON ready (shard, due_at, delivery_id) WHERE lease_lost > 0;

ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check;
ALTER TABLE alerts ADD CHECK (kind IN ('dead_letter', 'infected_attachment', 'stuck', 'provider_failures', 'plugin_crash',
                                       'plugin_switched_off'));

-- ---- replays of intents ----

-- An intent ends as its first delivery does; one that was replayed after its hosts died ends as the latest replay that has ended. Until
-- then the end that its client has seen stays.
CREATE OR REPLACE VIEW submission_states WITH (security_invoker = true) AS
  SELECT s.shard, s.id, s.org_id, s.kind, s.client_ref, s.pipeline, s.target,
         CASE WHEN s.state <> 'as_delivery' THEN s.state WHEN e.ended_at IS NOT NULL THEN e.status::text WHEN d.ended_at IS NULL THEN 'pending'
              ELSE d.status::text END AS state,
         CASE WHEN s.state <> 'as_delivery' THEN s.reason WHEN e.ended_at IS NOT NULL THEN e.reason ELSE d.reason END AS reason,
         s.payload_hash, s.created_at,
         CASE WHEN s.state <> 'as_delivery' THEN s.completed_at WHEN e.ended_at IS NOT NULL THEN e.ended_at ELSE d.ended_at END AS completed_at
  FROM submissions s
  LEFT JOIN deliveries d ON s.state = 'as_delivery' AND d.shard = s.shard AND d.org_id = s.org_id AND d.submission_id = s.id
    AND d.action_order = 1 AND d.replay = 0
  LEFT JOIN LATERAL (
    SELECT r.status, r.reason, r.ended_at FROM deliveries r
    WHERE d.reason = 'worker_lost' AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id AND r.action_order = 1
      AND r.replay > 0 AND r.ended_at IS NOT NULL
    ORDER BY r.replay DESC LIMIT 1) e ON true;
