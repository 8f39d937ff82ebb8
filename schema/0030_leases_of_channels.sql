-- Runs beside: 24
--
-- What belongs to a host has an end in the database that only the living host puts off. Claims have had one from the beginning; now
-- the place in `channel_hosts` gets a lease of its own. An older host renews none: what it serves is its own until it is dead.
--
-- Locks: `channel_hosts`, for a moment.

ALTER TABLE channel_hosts
  ADD COLUMN renewed_at  timestamptz,  -- null: by a host of an older version, until it is dead
  ADD COLUMN lease_until timestamptz;  -- from then on another host may serve the organisation's channels

-- Makes this host serve the channels of these organisations, where it does not already and no registered host does under a lease that
-- holds, and answers the channels among these that it serves. A lease holds from its renewal to its end: one that begins later than now is
-- from before a step of the clock. Left out are organisations with a data key that none of `masters` opens. Each statement sees what
-- was committed before it. So a host that serves an organisation was registered before it was found there.
CREATE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[], lease interval)
RETURNS TABLE (route_id integer, rate text) LANGUAGE plpgsql AS $$
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
END $$;

-- For older hosts: without a lease.
CREATE OR REPLACE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[])
RETURNS TABLE (route_id integer, rate text) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM serve_channels(host, orgs, channel_ids, routes, masters, NULL::interval);
END $$;

-- Permits to start deliveries of several targets now (the generic cell rate algorithm): of each one each `apart`, and after a pause up
-- to `burst` at once. Answers for each, by its place in the list, how many, and the microseconds until the next one. It waits for a
-- lock once, for a moment: targets whose rows are locked beyond that get none, and those behind them are looked at without waiting.
-- Rows are locked in one order.
CREATE FUNCTION take_permits(orgs integer[], names text[], wanted integer[], aparts interval[], bursts integer[])
RETURNS TABLE (place integer, granted integer, wait bigint) LANGUAGE plpgsql AS $$
DECLARE
  begun    timestamptz := clock_timestamp();
  may_wait boolean := true;
  one      record;
  at       timestamptz;
  since    timestamptz;
BEGIN
  BEGIN
    INSERT INTO target_rates SELECT w.org, w.name, timestamptz 'epoch' FROM unnest(orgs, names) AS w(org, name)
    WHERE NOT EXISTS (SELECT FROM target_rates r WHERE r.org_id = w.org AND r.target = w.name)
    GROUP BY 1, 2 ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  EXCEPTION WHEN lock_not_available THEN
    may_wait := false;
  END;
  FOR one IN SELECT w.* FROM unnest(orgs, names, wanted, aparts, bursts) WITH ORDINALITY AS w(org, name, most, apart, burst, n)
             ORDER BY w.org, w.name, w.n LOOP
    SELECT r.next_at INTO since FROM target_rates r WHERE r.org_id = one.org AND r.target = one.name FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND may_wait THEN
      BEGIN
        SELECT r.next_at INTO since FROM target_rates r WHERE r.org_id = one.org AND r.target = one.name FOR UPDATE;
      EXCEPTION WHEN lock_not_available THEN
        since := NULL;
      END;
      may_wait := since IS NOT NULL AND clock_timestamp() < begun + interval '100 milliseconds';
    END IF;
    place := one.n;
    IF since IS NULL THEN
      granted := 0;
      wait := 100000;
    ELSE
      at := clock_timestamp();  -- read once the row is ours
      since := least(greatest(since, at - one.apart * (one.burst - 1)), at + one.apart);
      granted := least(one.most, CASE WHEN since > at THEN 0
                                      ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM one.apart))::integer + 1 END);
      since := since + one.apart * granted;
      UPDATE target_rates r SET next_at = since WHERE r.org_id = one.org AND r.target = one.name;
      wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[], interval) SET search_path TO %I, pg_temp',
                 current_schema());
  EXECUTE format('ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[]) SET search_path TO %I, pg_temp',
                 current_schema());
  EXECUTE format('ALTER FUNCTION take_permits(integer[], text[], integer[], interval[], integer[]) SET search_path TO %I, pg_temp',
                 current_schema());
  -- Intents wait for the same sessions.
  ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[], interval) SET lock_timeout TO '100ms';
  ALTER FUNCTION serve_channels(integer, integer[], uuid[], integer[], text[]) SET lock_timeout TO '100ms';
  ALTER FUNCTION take_permits(integer[], text[], integer[], interval[], integer[]) SET lock_timeout TO '100ms';
END $$;
