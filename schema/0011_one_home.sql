-- Runs beside: none
--
-- One home of a delivery, whatever its kind: a row of `ready` while it is unfinished, a row of `deliveries` from its end on. One place
-- of a body: its submission's row.
--
-- Hosts of an earlier version cannot run beside this: they write what goes. What is under way goes on where it was.
--
-- Locks: `submissions`, `payloads`, `deliveries` and `ready` are closed, to readers as well, from here to the end. It takes about as
-- long as to write the bytes of `payloads` once and to read `deliveries` twice: seconds a gigabyte. To know beforehand:
-- SELECT pg_size_pretty(pg_total_relation_size('payloads')), pg_size_pretty(pg_relation_size('deliveries')).

-- ---- bodies ----

DROP TRIGGER submissions_body ON submissions;
DO $$
DECLARE
  one text;
BEGIN
  FOR one IN SELECT conname FROM pg_constraint
             WHERE conrelid = 'submissions'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%body IS NULL%' LOOP
    EXECUTE format('ALTER TABLE submissions DROP CONSTRAINT %I', one);
  END LOOP;
END $$;
UPDATE submissions s SET body = p.body FROM payloads p WHERE p.shard = s.shard AND p.submission_id = s.id AND s.body IS NULL;
DROP VIEW bodies;
DROP TABLE payloads;
-- It is erased with the submission's last move, and never changed. A form's row is written anew as it moves, its body is not: what is
-- larger than two kilobytes is stored apart by PostgreSQL and stays.
CREATE TRIGGER submissions_body BEFORE UPDATE OF body ON submissions FOR EACH ROW
  WHEN (NEW.body IS DISTINCT FROM OLD.body AND NOT (NEW.body IS NULL AND NEW.state = 'purged'))
  EXECUTE FUNCTION refuse('what was handed in does not change');

-- ---- deliveries ----

ALTER TABLE ready ADD COLUMN replay smallint NOT NULL DEFAULT 0;  -- 0: not a replay
UPDATE ready r SET replay = d.replay FROM deliveries d WHERE d.shard = r.shard AND d.id = r.delivery_id AND d.replay > 0;
DELETE FROM deliveries d USING ready r WHERE d.shard = r.shard AND d.id = r.delivery_id;
-- What is neither in the queue nor ended would never have been sent. None should be there.
UPDATE deliveries SET status = 'cancelled', reason = 'not_in_queue', ended_at = now() WHERE ended_at IS NULL;
DROP VIEW all_deliveries;
DROP TRIGGER deliveries_moves ON deliveries;
ALTER TABLE deliveries ALTER COLUMN ended_at SET NOT NULL,
  ADD CONSTRAINT deliveries_ended CHECK (status IN ('accepted', 'rejected', 'exhausted', 'deferred', 'cancelled'));
CREATE TRIGGER deliveries_stay AFTER UPDATE ON deliveries FOR EACH ROW
  WHEN (NEW.status <> OLD.status OR NEW.ended_at <> OLD.ended_at)
  EXECUTE FUNCTION refuse('a delivery that has ended does not change');
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE (result)' WHERE table_name = 'deliveries';
DELETE FROM access_rules WHERE table_name IN ('bodies', 'all_deliveries', 'payloads');

-- The unfinished deliveries of a submission. An only delivery has its submission's id and is found by it.
CREATE UNIQUE INDEX ready_of ON ready (shard, org_id, submission_id, action_order, replay) WHERE delivery_id <> submission_id;

-- What belongs to a delivery, a reader sees with it.
DO $$
DECLARE
  rule    text := pg_get_functiondef('apply_access()'::regprocedure);
  renewed text := replace(rule, 'OR EXISTS (SELECT FROM submissions s WHERE s.shard = %1$I.shard AND s.id = %1$I.delivery_id)',
                          'OR EXISTS (SELECT FROM ready r WHERE r.shard = %1$I.shard AND r.delivery_id = %1$I.delivery_id)');
  one     text;
BEGIN
  ASSERT renewed <> rule;
  EXECUTE renewed;
  FOR one IN SELECT table_name FROM access_rules WHERE seen_with = 'delivery' LOOP
    EXECUTE format('DROP POLICY IF EXISTS reader ON %I', one);  -- apply_access() makes it anew
  END LOOP;
END $$;
