-- Gives a host the place to serve organisations' channels, where it is free or the lease of its holder is over, and answers the routes that
-- it may claim, with their rates.
CREATE OR REPLACE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[], lease interval)
 RETURNS TABLE(route_id integer, rate text)
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
 SET lock_timeout TO '100ms'
AS $function$
DECLARE
  one  integer;
  seen channel_hosts;
  at   timestamptz;
  ours integer[] := '{}';
BEGIN
  FOR one IN SELECT DISTINCT w.org_id FROM unnest(orgs) AS w(org_id)
             WHERE NOT EXISTS (SELECT FROM org_keys k WHERE k.org_id = w.org_id AND k.master <> ALL (masters)) ORDER BY 1 LOOP
    SELECT * INTO seen FROM channel_hosts c WHERE c.org_id = one;
    IF NOT FOUND THEN
      at := clock_timestamp();
      INSERT INTO channel_hosts AS c (org_id, host_id, renewed_at, lease_until)
      VALUES (one, host, CASE WHEN lease IS NOT NULL THEN at END, at + lease) ON CONFLICT DO NOTHING;
      SELECT * INTO seen FROM channel_hosts c WHERE c.org_id = one;
    END IF;
    at := clock_timestamp();
    -- Of its own it renews what the liveness session has not renewed for half a lease: the host was stopped.
    IF seen.host_id = host AND at BETWEEN seen.renewed_at AND seen.lease_until - (seen.lease_until - seen.renewed_at) / 2
       OR seen.host_id = host AND lease IS NULL THEN
      ours := ours || one;
    ELSIF seen.host_id = host OR NOT at BETWEEN seen.renewed_at AND seen.lease_until
          OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = seen.host_id) THEN
      UPDATE channel_hosts c SET host_id = host, renewed_at = CASE WHEN lease IS NOT NULL THEN at END, lease_until = at + lease
      WHERE c.org_id = one AND c.host_id = seen.host_id
        AND (c.host_id = host OR c.renewed_at IS NOT DISTINCT FROM seen.renewed_at);  -- a renewal that came between counts
      IF FOUND THEN
        ours := ours || one;
      END IF;
    END IF;
  END LOOP;
  RETURN QUERY
    SELECT s.route_id, c.config::jsonb ->> 'rate' FROM unnest(orgs, channel_ids, routes) AS s(org_id, channel_id, route_id)
    JOIN channels c ON c.org_id = s.org_id AND c.channel_id = s.channel_id
    WHERE s.org_id = ANY (ours);
END $function$;

-- As hosts without leases call it.
CREATE OR REPLACE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[])
 RETURNS TABLE(route_id integer, rate text)
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
 SET lock_timeout TO '100ms'
AS $function$
BEGIN
  RETURN QUERY SELECT * FROM serve_channels(host, orgs, channel_ids, routes, masters, NULL::interval);
END $function$;
