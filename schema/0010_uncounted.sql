-- Runs beside: none
-- Which attempts count. Attempts that nobody saw the end of, and attempts that a target's outage ended, are on record under their own
-- numbers, but do not use up a contract's attempts.

ALTER TABLE ready ADD COLUMN uncounted integer NOT NULL DEFAULT 0;  -- of attempt_count
UPDATE ready SET uncounted = lease_lost WHERE lease_lost > 0;
ALTER TABLE attempts ADD COLUMN counts boolean NOT NULL DEFAULT true;

-- When the outage began that a target rests for: the first outcome that blamed the target, after the last one that did not.
ALTER TABLE target_rests ADD COLUMN since timestamptz NOT NULL DEFAULT now();

DROP VIEW claimed;  -- its columns are those that `ready` had
CREATE VIEW claimed WITH (security_invoker = true) AS
  SELECT r.*, c.host_id, c.lease_until AS claim_ends FROM claims c CROSS JOIN LATERAL unnest(c.deliveries) AS one(delivery_id)
  JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed';
