-- Alerts on their way to the alert target, and the failures that a digest sums up.

-- A telling is what one message says: reserved first, then handed in, then marked as told. What a host leaves half done another one
-- finishes, under the same reference and with the same counts.
ALTER TABLE alerts ADD COLUMN counted bigint NOT NULL DEFAULT 0;   -- of `count`: what a host's metrics have
ALTER TABLE alerts ADD COLUMN telling text;                        -- reference of the message under way
ALTER TABLE alerts ADD COLUMN telling_count bigint;                -- what that message says
ALTER TABLE alerts ADD COLUMN summed boolean NOT NULL DEFAULT false;  -- the latest message was a summary of many incidents

-- Of a condition that lasts: counted once in `apart`, however often and by however many hosts it is seen.
CREATE FUNCTION remind_alert(org integer, what text, about text, words text, apart interval) RETURNS void LANGUAGE sql AS $$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
  WHERE alerts.last_at <= now() - apart
$$;

-- Attempts that ended as error, until they have been told: added up by the hosts as they settle, never read from the attempts.
CREATE TABLE provider_failures (
  org_id      integer NOT NULL,
  until       timestamptz NOT NULL,  -- end of the period
  action_type text NOT NULL,
  target      text NOT NULL,
  reason      text NOT NULL,
  since       timestamptz NOT NULL,  -- its begin
  count       bigint NOT NULL,
  PRIMARY KEY (org_id, until, action_type, target, reason)
) WITH (fillfactor = 50);
