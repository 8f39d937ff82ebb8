-- Runs beside: 24
--
-- The schedule of failure checks that each host has. While they differ, that of the newest host holds: hosts that took turns in planning
-- by their own schedules passed over every tick. A host of before tells none, and plans by its own.

CREATE TABLE failure_check_hosts (
  host_id  integer PRIMARY KEY,  -- of a host that may be gone
  schedule text    NOT NULL      -- with its time zone
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('failure_check_hosts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL);
