-- Runs beside: 27
--
-- Functions: 72467827dfff287e69490c417996e6d8b9108207d6f22b5ef1185f98908a3c3a
--
-- Moments to which this database was restored (waybill restore-fence): what was open then may have been sent since. A pipeline asks before it begins an
-- action of policy one_shot. A host of an earlier version does not ask: replace those first.
--
-- And what is known of erased organisations (waybill org erase): how many rows of which tables, with a digest of their keys. Nothing of what the rows held.
--
-- Locks: none.

CREATE TABLE restores (
  restored_to timestamptz PRIMARY KEY,
  fenced_at   timestamptz NOT NULL DEFAULT now(),
  actor       text        NOT NULL
);

CREATE TABLE erasures (
  erased_org integer     NOT NULL,  -- a number that no organisation has any more, or that of one that is being erased
  table_name text        NOT NULL,
  rows       bigint      NOT NULL,
  oldest     timestamptz,
  newest     timestamptz,
  digest     text        NOT NULL,
  begun_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (erased_org, table_name)
);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('erasures', 'SELECT', 'SELECT', NULL, NULL),
  ('restores', 'SELECT', 'SELECT', NULL, 'SELECT (restored_to)');
