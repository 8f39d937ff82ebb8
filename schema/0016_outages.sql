-- Runs beside: none
--
-- A target in an outage has one probe at a time: after its cooldown one delivery goes first, and the others wait for what becomes of it.
-- A row is there for as long as the outage lasts, also while its cooldown is over. It goes with the first attempt that gets through.

ALTER TABLE target_rests
  ADD COLUMN probe_until timestamptz,  -- a probe is under way until then; null: none is
  ADD COLUMN probe_host  integer;      -- of whom

UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE, DELETE' WHERE table_name = 'target_rests';
