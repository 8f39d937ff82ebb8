-- Runs beside: 27
--
-- Hosts hear each other across a step of the database's clock. Until the first of them has said something by the new time, those count that spoke
-- within 15 s of the one that spoke last; it then takes the others' words along (tell_host_facts). Without this a host that reached nothing
-- was alone for a second, and its word on destinations held for all.

CREATE OR REPLACE VIEW heard_hosts WITH (security_invoker = true) AS
WITH said AS (
  SELECT h.host_id, coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END, now()) AS at
  FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id)
SELECT host_id FROM said
WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds'
   OR NOT EXISTS (SELECT FROM said WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds')
      AND at >= (SELECT max(at) FROM said) - interval '15 seconds';
