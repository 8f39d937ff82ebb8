-- Runs beside: 16
-- Targets with a rate: from when each may be sent to again, counted for all hosts together.

CREATE TABLE target_rates (
  org_id  integer NOT NULL,
  target  text NOT NULL,
  next_at timestamptz NOT NULL,  -- when the last permit that was given out is used up
  PRIMARY KEY (org_id, target)
);
INSERT INTO access_rules VALUES ('target_rates', 'SELECT, INSERT, UPDATE', 'SELECT', NULL);

-- Permits to start deliveries of a target now (the generic cell rate algorithm): one each `apart`, and after a pause up to `burst` at once.
-- Answers how many, and the microseconds until the next one.
CREATE FUNCTION take_permits(org integer, name text, wanted integer, apart interval, burst integer, OUT granted integer, OUT wait bigint)
LANGUAGE plpgsql AS $$
DECLARE
  at    timestamptz;
  since timestamptz;
BEGIN
  INSERT INTO target_rates VALUES (org, name, 'epoch') ON CONFLICT DO NOTHING;
  SELECT next_at INTO since FROM target_rates WHERE org_id = org AND target = name FOR UPDATE;
  at := clock_timestamp();  -- read once the row is ours
  since := greatest(since, at - apart * (burst - 1));
  granted := least(wanted, CASE WHEN since > at THEN 0 ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM apart))::integer + 1 END);
  since := since + apart * granted;
  UPDATE target_rates SET next_at = since WHERE org_id = org AND target = name;
  wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION take_permits(integer, text, integer, interval, integer) SET search_path TO %I, pg_temp', current_schema());
END $$;
