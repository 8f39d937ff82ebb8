-- Permits to start deliveries of several targets now (the generic cell rate algorithm): of each one each `apart`, and after a pause up
-- to `burst` at once. Answers for each, by its place in the list, how many, and the microseconds until the next one. It waits for a
-- lock once, for a moment: targets whose rows are locked beyond that get none, and those behind them are looked at without waiting.
-- Rows are locked in one order.
CREATE OR REPLACE FUNCTION take_permits(org integer, name text, wanted integer, apart interval, burst integer, OUT granted integer, OUT wait bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION take_permits(orgs integer[], names text[], wanted integer[], aparts interval[], bursts integer[])
 RETURNS TABLE(place integer, granted integer, wait bigint)
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
 SET lock_timeout TO '100ms'
AS $function$
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
END $function$;
