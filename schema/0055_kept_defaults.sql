-- Runs beside: 27
--
-- What an installation goes on with although the default has changed since: a plugin that is not Waybill's own may need what a process of its own
-- does not give it. Where a host has run already, such plugins stay in the host until `plugin_isolation` says where they run.

CREATE TABLE kept_defaults (
  name text PRIMARY KEY CHECK (name IN ('plugin_isolation')),
  value text NOT NULL
);
INSERT INTO kept_defaults (name, value)
SELECT 'plugin_isolation', 'in_process' WHERE EXISTS (SELECT FROM hosts) OR EXISTS (SELECT FROM submissions);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('kept_defaults', 'SELECT', 'SELECT', NULL, NULL);
