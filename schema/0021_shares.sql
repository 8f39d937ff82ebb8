-- Runs beside: 20
--
-- Limits that hold for all hosts of a database together: the channels of an organisation are served by one host at a time. And the weight
-- of an organisation, where several want more than there is. A host of version 20 knows neither: the limit of an organisation's channels
-- is exact once it is replaced.
--
-- Locks: `organisations`, for a moment.

ALTER TABLE organisations ADD COLUMN weight integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000);
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE (disabled_at, weight)' WHERE table_name = 'organisations';

-- Which host sends to the channels of an organisation, until it says that it has nothing more under way or is no longer registered.
CREATE TABLE channel_hosts (
  org_id  integer PRIMARY KEY,
  host_id integer NOT NULL  -- of a host that may have been rescued since
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('channel_hosts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL);

-- Makes this host serve the channels of these organisations, where it does not already and no registered host does, and answers the
-- channels among these that it serves. Left out are organisations with a data key that none of `masters` opens. Each statement sees what
-- was committed before it. So a host that serves an organisation was registered before it was found there.
CREATE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[])
RETURNS TABLE (route_id integer, rate text) LANGUAGE plpgsql AS $$
DECLARE
  one    integer;
  server integer;
  ours   integer[] := '{}';
BEGIN
  FOR one IN SELECT DISTINCT w.org_id FROM unnest(orgs) AS w(org_id)
             WHERE NOT EXISTS (SELECT FROM org_keys k WHERE k.org_id = w.org_id AND k.master <> ALL (masters)) ORDER BY 1 LOOP
    SELECT c.host_id INTO server FROM channel_hosts c WHERE c.org_id = one;
    IF NOT FOUND THEN
      INSERT INTO channel_hosts VALUES (one, host) ON CONFLICT DO NOTHING;
      SELECT c.host_id INTO server FROM channel_hosts c WHERE c.org_id = one;
    END IF;
    IF server <> host AND NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = server) THEN
      UPDATE channel_hosts c SET host_id = host WHERE c.org_id = one AND c.host_id = server;
      CONTINUE WHEN NOT FOUND;
      server := host;
    END IF;
    IF server = host THEN
      ours := ours || one;
    END IF;
  END LOOP;
  RETURN QUERY
    SELECT s.route_id, c.config::jsonb ->> 'rate' FROM unnest(orgs, channel_ids, routes) AS s(org_id, channel_id, route_id)
    JOIN channels c ON c.org_id = s.org_id AND c.channel_id = s.channel_id
    WHERE s.org_id = ANY (ours);
END $$;

-- As before, but a permit that was given out at a slower rate holds up those of a faster one for no longer than theirs do.
CREATE OR REPLACE FUNCTION take_permits(org integer, name text, wanted integer, apart interval, burst integer, OUT granted integer, OUT wait bigint)
LANGUAGE plpgsql AS $$
DECLARE
  at    timestamptz;
  since timestamptz;
BEGIN
  INSERT INTO target_rates VALUES (org, name, 'epoch') ON CONFLICT DO NOTHING;
  SELECT next_at INTO since FROM target_rates WHERE org_id = org AND target = name FOR UPDATE;
  at := clock_timestamp();  -- read once the row is ours
  since := least(greatest(since, at - apart * (burst - 1)), at + apart);
  granted := least(wanted, CASE WHEN since > at THEN 0 ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM apart))::integer + 1 END);
  since := since + apart * granted;
  UPDATE target_rates SET next_at = since WHERE org_id = org AND target = name;
  wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
END $$;

-- How attempts of channels ended. A channel whose destination is gone is disabled, and so is one that has only failed for long, each with
-- an alert. Answers those. A channel whose state stays what it is is not written, nor one that is locked: a settlement does not wait for
-- it, and a later attempt will say the same.
CREATE FUNCTION record_channel_results(orgs integer[], channel_ids uuid[], hows text[], patience interval)
RETURNS TABLE (disabled_channel uuid, why text, alerted boolean) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  WITH result AS (
    SELECT t.org_id, t.channel_id, bool_or(t.how = 'gone') AS gone, bool_or(t.how = 'accepted') AS accepted
    FROM unnest(orgs, channel_ids, hows) AS t(org_id, channel_id, how) GROUP BY 1, 2 ORDER BY 1, 2),
  seen AS (
    SELECT c.org_id, c.channel_id, c.name, n.gone, n.accepted, c.failing_since,
           n.gone OR NOT n.accepted AND c.failing_since <= now() - patience AS hopeless
    FROM result n JOIN channels c USING (org_id, channel_id)
    WHERE c.deleted_at IS NULL AND c.disabled_at IS NULL
      AND (n.gone OR CASE WHEN n.accepted THEN c.failing_since IS NOT NULL
                          ELSE c.failing_since IS NULL OR c.failing_since <= now() - patience END)
    FOR NO KEY UPDATE OF c SKIP LOCKED),
  noted AS (
    UPDATE channels c SET failing_since = CASE WHEN s.accepted AND NOT s.gone THEN NULL ELSE coalesce(c.failing_since, now()) END,
           disabled_at = CASE WHEN s.hopeless THEN now() END,
           disabled_reason = CASE WHEN s.gone THEN 'its destination answered that it is gone'
                                  WHEN s.hopeless THEN 'every attempt has failed for too long' END
    FROM seen s WHERE c.org_id = s.org_id AND c.channel_id = s.channel_id
    RETURNING c.org_id, c.channel_id, c.name, c.disabled_reason)
  SELECT n.channel_id, n.disabled_reason,
         raise_alert(n.org_id, 'channel_disabled', n.channel_id::text, 'channel ' || n.name || ' was disabled: ' || n.disabled_reason) IS NOT NULL
  FROM noted n WHERE n.disabled_reason IS NOT NULL;
END $$;

DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION take_permits(integer, text, integer, interval, integer) SET search_path TO %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION record_channel_results(integer[], uuid[], text[], interval) SET search_path TO %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[]) SET search_path TO %I, pg_temp',
                 current_schema());
  -- Intents wait for the same sessions.
  ALTER FUNCTION record_channel_results(integer[], uuid[], text[], interval) SET lock_timeout TO '100ms';
  ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[]) SET lock_timeout TO '100ms';
END $$;
