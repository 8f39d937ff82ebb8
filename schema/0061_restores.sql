-- Runs beside: 27
--
-- Moments to which this database was restored (waybill restore-fence): what was open then may have been sent since. A pipeline asks before it begins an
-- action of policy one_shot. A host of an earlier version does not ask: replace those first.
--
-- Locks: none.

CREATE TABLE restores (
  restored_to timestamptz PRIMARY KEY,
  fenced_at   timestamptz NOT NULL DEFAULT now(),
  actor       text        NOT NULL
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('restores', 'SELECT', 'SELECT', NULL, 'SELECT');
