-- Runs beside: 27
--
-- The hosts that have said something of themselves lately. One that is stopped, hangs or is cut off keeps its row in `hosts` for as long as its
-- session lives: nobody waits for its word, and its schedule does not hold. A host of a version before 37 says nothing, and counts as heard.
-- The time is that of host/cli/living_hosts.cpp; what was said later than now is from before a step of the clock.

CREATE VIEW heard_hosts WITH (security_invoker = true) AS
SELECT h.host_id
FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id
WHERE coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END, now())
      BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds';
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('heard_hosts', 'SELECT', 'SELECT', NULL, NULL);
