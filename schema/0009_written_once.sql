-- Fewer rows and indexes written for each intent: its body stands in its submission's row, its delivery is on record from its end on.

-- ---- bodies ----

-- A submission that is written once has its body in its own row. One whose row changes as it moves keeps it apart, in `payloads`, and so
-- do those that were taken in before this.
ALTER TABLE submissions ADD COLUMN body bytea;
ALTER TABLE submissions ADD CHECK (body IS NULL OR state = 'as_delivery') NOT VALID;
CREATE TRIGGER submissions_body BEFORE UPDATE OF body ON submissions FOR EACH ROW WHEN (NEW.body IS DISTINCT FROM OLD.body)
  EXECUTE FUNCTION refuse('what was handed in does not change');
CREATE VIEW bodies WITH (security_invoker = true) AS
  SELECT s.shard, s.id AS submission_id, s.org_id, coalesce(s.body, p.body) AS body
  FROM submissions s LEFT JOIN payloads p ON s.body IS NULL AND p.shard = s.shard AND p.submission_id = s.id;

-- ---- deliveries ----

-- An intent has one delivery. It has the submission's id, and no row in `deliveries` before its end: until then it is a row of `ready`,
-- which has all that is known of it. Those that were taken in before this have a row from the beginning, as a form's deliveries do.
ALTER TABLE deliveries SET (fillfactor = 90);
CREATE VIEW all_deliveries WITH (security_invoker = true) AS
  SELECT shard, id, org_id, submission_id, action_order, replay, action_type, route_id, status, attempt_count, reason, provider_ref, result,
         ended_at
  FROM deliveries
  UNION ALL
  SELECT r.shard, r.delivery_id, r.org_id, r.delivery_id, r.action_order, 0::smallint, c.contract::jsonb ->> 'actionType', r.route_id,
         'due'::delivery_status, 0, NULL, NULL, NULL, NULL
  FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id WHERE r.delivery_id = r.submission_id;

-- What belongs to a delivery without a row, a reader sees with its submission.
DO $$
DECLARE
  rule    text := pg_get_functiondef('apply_access()'::regprocedure);
  old     text := '''EXISTS (SELECT FROM deliveries d WHERE d.shard = %1$I.shard AND d.id = %1$I.delivery_id)''';
  renewed text := replace(rule, old, old || '
              '' OR EXISTS (SELECT FROM submissions s WHERE s.shard = %1$I.shard AND s.id = %1$I.delivery_id)''');
  one     text;
BEGIN
  ASSERT renewed <> rule;
  EXECUTE renewed;
  FOR one IN SELECT table_name FROM access_rules WHERE seen_with = 'delivery' LOOP
    EXECUTE format('DROP POLICY IF EXISTS reader ON %I', one);  -- apply_access() makes it anew
  END LOOP;
END $$;

-- ---- the queue ----

-- Computed anew with each claim, the column cost more than the check that keeps it true.
ALTER TABLE ready ALTER COLUMN queued DROP EXPRESSION, ALTER COLUMN queued SET DEFAULT true;
ALTER TABLE ready DROP CONSTRAINT ready_status_check;
ALTER TABLE ready ADD CHECK (status = 'claimed' AND queued OR status = 'due' AND queued OR status IN ('waiting', 'open') AND NOT queued);
-- A claim's list lives for milliseconds: not worth compressing.
ALTER TABLE claims ALTER COLUMN deliveries SET STORAGE EXTERNAL;
-- Whose claim it is, and until when, comes along.
CREATE OR REPLACE VIEW claimed WITH (security_invoker = true) AS
  SELECT r.*, c.host_id, c.lease_until AS claim_ends FROM claims c CROSS JOIN LATERAL unnest(c.deliveries) AS one(delivery_id)
  JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed';

INSERT INTO access_rules VALUES ('bodies', 'SELECT', 'SELECT', NULL), ('all_deliveries', 'SELECT', 'SELECT', NULL);
