-- Runs beside: 27
--
-- What one host cannot reach is that host's finding, and its cooldown is that host's alone, until another host confirms it. A host that
-- reaches nothing while others do is cut off, and claims nothing. A host of version 27 has all hosts cool down, as before.

CREATE TABLE host_findings (
  org_id     integer     NOT NULL,
  target     text        NOT NULL,  -- as in target_rests
  host_id    integer     NOT NULL,  -- of a host that may be gone
  since      timestamptz NOT NULL,
  until      timestamptz NOT NULL,  -- the host sends nothing there before
  reason     text        NOT NULL,
  refuted_at timestamptz,           -- when another host had had an answer from there since
  PRIMARY KEY (org_id, target, host_id)
);
CREATE TABLE cut_off_hosts (
  host_id integer     PRIMARY KEY,
  since   timestamptz NOT NULL,
  target  text        NOT NULL  -- that it cannot reach and another host does
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('host_findings', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('cut_off_hosts', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL);
