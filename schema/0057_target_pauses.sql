-- Runs beside: 27
--
-- Targets to which an operator has stopped sending. A host of an earlier version does not know the table, and sends on: replace those first.
--
-- Locks: none.

CREATE TABLE target_pauses (
  org_id integer     NOT NULL,
  target text        NOT NULL,  -- as in target_outages
  since  timestamptz NOT NULL DEFAULT now(),
  reason text        NOT NULL,
  actor  text        NOT NULL,
  PRIMARY KEY (org_id, target)
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('target_pauses', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL);
