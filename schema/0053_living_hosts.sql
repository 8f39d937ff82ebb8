-- Runs beside: 27
--
-- The hosts whose session lives: each holds an advisory lock of its own id as long as its process does. What a host that has just crashed had found
-- of a destination confirms nothing: on the same machine it may be what its successor finds (see host_findings).

CREATE VIEW living_hosts WITH (security_invoker = true) AS
SELECT l.objid::bigint::int AS host_id, l.pid
FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = hashtext('waybill:' || current_schema())::oid
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('living_hosts', 'SELECT', 'SELECT', NULL, NULL);
