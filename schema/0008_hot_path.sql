-- Fewer bytes written for each delivery: claims that touch no index, intents whose end is written once.

-- ---- claims ----

-- A claim changes a row's status and token. Neither may be in an index, or each claim would write the row's index entries again (a
-- change of unindexed columns stays on its page). `queued` is what the index goes by instead; it does not change with a claim.
ALTER TABLE ready ADD COLUMN queued boolean NOT NULL GENERATED ALWAYS AS (status IN ('due', 'claimed')) STORED;
DROP INDEX ready_due;
CREATE INDEX ready_due ON ready (shard, route_id, due_at, delivery_id) WHERE queued;
DROP INDEX ready_claimed;
ALTER TABLE ready SET (fillfactor = 45);  -- room for the claimed version of every row of a page

-- Who has what: one row for each claim, so that the deliveries of a host that died, or was too slow, are found without an index that
-- every claim would write. A row goes when the claim's last delivery is settled; one that is left behind goes with its lease.
CREATE TABLE claims (
  shard       smallint NOT NULL,
  token       bigint NOT NULL,
  host_id     integer NOT NULL,
  lease_until timestamptz NOT NULL,
  deliveries  bigint[] NOT NULL,
  PRIMARY KEY (shard, token)
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
INSERT INTO claims
  SELECT shard, claim_token, claimed_by, max(lease_until), array_agg(delivery_id) FROM ready WHERE status = 'claimed'
  GROUP BY shard, claim_token, claimed_by;
CREATE VIEW claimed WITH (security_invoker = true) AS
  SELECT r.* FROM claims c CROSS JOIN LATERAL unnest(c.deliveries) AS one(delivery_id)
  JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed';

-- ---- ends ----

-- A submission with a single delivery ends as that ends. Its state is that delivery's, told by the view below, and its row is never
-- written again.
UPDATE submissions SET state = 'as_delivery' WHERE pipeline = 'intent' AND completed_at IS NULL;
ALTER TABLE submissions ADD CHECK (pipeline <> 'intent' OR state = 'as_delivery' OR completed_at IS NOT NULL) NOT VALID;
ALTER TABLE submissions SET (fillfactor = 90);
CREATE TRIGGER submissions_follow BEFORE UPDATE ON submissions FOR EACH ROW
  WHEN (OLD.state = 'as_delivery' AND (NEW.state <> OLD.state OR NEW.reason IS NOT NULL OR NEW.completed_at IS NOT NULL))
  EXECUTE FUNCTION refuse('this submission''s state is its delivery''s');
CREATE VIEW submission_states WITH (security_invoker = true) AS
  SELECT s.shard, s.id, s.org_id, s.kind, s.client_ref, s.pipeline, s.target,
         CASE WHEN s.state <> 'as_delivery' THEN s.state WHEN d.ended_at IS NULL THEN 'pending' ELSE d.status::text END AS state,
         CASE WHEN s.state <> 'as_delivery' THEN s.reason ELSE d.reason END AS reason, s.payload_hash, s.created_at,
         CASE WHEN s.state <> 'as_delivery' THEN s.completed_at ELSE d.ended_at END AS completed_at
  FROM submissions s
  LEFT JOIN deliveries d ON s.state = 'as_delivery' AND d.shard = s.shard AND d.org_id = s.org_id AND d.submission_id = s.id
    AND d.action_order = 1 AND d.replay = 0;

-- Guards that look after the change, not before it: a trigger that runs before an update locks its row by a write of its own.
DROP TRIGGER ready_moves ON ready;
CREATE TRIGGER ready_moves AFTER UPDATE ON ready FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND NOT (OLD.status IN ('waiting', 'open') AND NEW.status = 'due'
        OR OLD.status = 'due' AND NEW.status = 'claimed' OR OLD.status = 'claimed' AND NEW.status = 'due'))
  EXECUTE FUNCTION refuse('a delivery cannot make this move');
DROP TRIGGER deliveries_moves ON deliveries;
CREATE TRIGGER deliveries_moves AFTER UPDATE ON deliveries FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND (OLD.ended_at IS NOT NULL OR OLD.status NOT IN ('waiting', 'open', 'due', 'claimed')))
  EXECUTE FUNCTION refuse('a delivery that has ended does not change');

INSERT INTO access_rules VALUES
  ('claims',            'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL),
  ('claimed',           'SELECT',                         'SELECT', NULL),
  ('submission_states', 'SELECT',                         'SELECT', NULL);
