-- Runs beside: none
--
-- Channels of organisations, the alert rules that they are bound to, events, and what collects them for a channel. A host of an
-- earlier version does not know where such a delivery goes.
--
-- Locks: `ready` is closed for a moment, while one of its constraints and one of its triggers are replaced.

-- ---- an open delivery is in the queue: the first claim after its window closes it ----

ALTER TABLE ready DROP CONSTRAINT ready_check;
ALTER TABLE ready ADD CONSTRAINT ready_check CHECK (
  CASE WHEN queued THEN lease_lost = 0 AND status IN ('due', 'claimed', 'open')
       ELSE lease_lost > 0 AND status IN ('due', 'claimed') OR lease_lost = 0 AND status = 'waiting' END) NOT VALID;
DROP TRIGGER ready_moves ON ready;
CREATE TRIGGER ready_moves AFTER UPDATE ON ready FOR EACH ROW
  WHEN (new.status <> old.status AND NOT (old.status = 'waiting' AND new.status = 'due' OR old.status = 'open' AND new.status IN ('due', 'claimed')
        OR old.status = 'due' AND new.status = 'claimed' OR old.status = 'claimed' AND new.status = 'due'))
  EXECUTE FUNCTION refuse('a delivery cannot make this move');

-- What came back over HTTP, of attempts to reach channels.
ALTER TABLE attempts ADD COLUMN answer jsonb;

-- ---- channels ----

-- The keys that an organisation's secrets are sealed with, each sealed itself with a master key that only hosts have.
CREATE TABLE org_keys (
  org_id     integer NOT NULL REFERENCES organisations,
  key_id     integer NOT NULL,
  master     text NOT NULL,  -- which master key: a part of its hash
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, key_id)
);

-- The action types that channels may have.
CREATE TABLE channel_types (type text PRIMARY KEY);
INSERT INTO channel_types VALUES ('webhook');

CREATE TABLE channels (
  org_id           integer NOT NULL REFERENCES organisations,
  channel_id       uuid NOT NULL DEFAULT gen_random_uuid(),
  shard            smallint NOT NULL,  -- of its deliveries
  route_id         integer NOT NULL REFERENCES contract_snapshots,
  name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  type             text NOT NULL REFERENCES channel_types,
  config           text NOT NULL CHECK (config::jsonb ? 'url'),
  key_id           integer NOT NULL,
  secret           bytea NOT NULL,  -- sealed, as is the next
  secondary_secret bytea,           -- the secret before the last rotation, until it is cleared
  rotated_at       timestamptz,
  failing_since    timestamptz,  -- null: its latest attempt was taken
  disabled_at      timestamptz,
  disabled_reason  text,
  deleted_at       timestamptz,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, channel_id),
  FOREIGN KEY (org_id, key_id) REFERENCES org_keys
);
CREATE UNIQUE INDEX channels_names ON channels (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX channels_rotated ON channels (rotated_at) WHERE secondary_secret IS NOT NULL;

CREATE TABLE alert_rules (
  org_id     integer NOT NULL REFERENCES organisations,
  rule_id    uuid NOT NULL DEFAULT gen_random_uuid(),
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  status     text NOT NULL CHECK (status IN ('draft', 'active', 'disabled')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, rule_id)
);

CREATE TABLE rule_channels (
  org_id     integer NOT NULL,
  rule_id    uuid NOT NULL,
  channel_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, rule_id, channel_id),
  FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules ON DELETE CASCADE,
  FOREIGN KEY (org_id, channel_id) REFERENCES channels
);
CREATE INDEX rule_channels_of_channel ON rule_channels (org_id, channel_id);

-- ---- events and notifications ----

-- Another program may insert here as well: (org_id, rule_id, event_id, snapshot). What is not fanned out is found by a scan.
CREATE TABLE alert_events (
  org_id        integer NOT NULL,
  rule_id       uuid NOT NULL,
  event_id      text NOT NULL CHECK (length(event_id) BETWEEN 1 AND 255),
  event_no      bigint GENERATED ALWAYS AS IDENTITY,
  snapshot      text NOT NULL CHECK (snapshot::json IS NOT NULL),
  suppressed    boolean NOT NULL DEFAULT false,
  created_at    timestamptz NOT NULL DEFAULT now(),
  fanned_out_at timestamptz,
  PRIMARY KEY (org_id, rule_id, event_id),
  FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules
);
CREATE UNIQUE INDEX alert_events_numbers ON alert_events (event_no);
CREATE INDEX alert_events_ages ON alert_events (created_at);
CREATE INDEX alert_events_left ON alert_events (event_no) WHERE fanned_out_at IS NULL;

-- A delivery of events of one rule to one channel. Its id is its submission's.
CREATE TABLE notifications (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  rule_id     uuid,              -- null: it tests the channel
  channel_id  uuid NOT NULL,
  created_at  timestamptz NOT NULL,
  bytes       integer NOT NULL,  -- of its body
  latest      bigint NOT NULL,   -- the delivery of its latest replay, or itself
  PRIMARY KEY (shard, delivery_id)
);
CREATE INDEX notifications_newest ON notifications (org_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_rule ON notifications (org_id, rule_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_channel ON notifications (org_id, channel_id, created_at DESC, delivery_id DESC);

-- How notifications stand, in the words of their API.
CREATE VIEW notification_states WITH (security_invoker = true) AS
  SELECT n.shard, n.delivery_id, n.org_id, n.rule_id, n.channel_id, n.created_at,
         CASE WHEN r.status = 'claimed' THEN 'processing' WHEN r.status IS NOT NULL THEN 'pending' WHEN d.status = 'accepted' THEN 'succeeded'
              WHEN d.status = 'cancelled' OR d.reason = 'channel_deleted' THEN 'cancelled' ELSE 'failed' END AS status,
         coalesce(r.attempt_count, d.attempt_count, 0) AS attempt_count, coalesce(r.due_at, d.ended_at) AS send_after,
         CASE WHEN d.status = 'accepted' THEN d.ended_at END AS delivered_at
  FROM notifications n
  LEFT JOIN ready r ON r.shard = n.shard AND r.delivery_id = n.latest
  LEFT JOIN deliveries d ON d.shard = n.shard AND d.id = n.latest;

CREATE TABLE notification_events (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  event_no    bigint NOT NULL,
  org_id      integer NOT NULL,
  PRIMARY KEY (shard, delivery_id, event_no)
);
CREATE INDEX notification_events_numbers ON notification_events (event_no);

-- The latest notification of a rule and a channel: the one that takes the next event, while it is open.
CREATE TABLE notification_windows (
  org_id     integer NOT NULL,
  rule_id    uuid NOT NULL,
  channel_id uuid NOT NULL,
  latest     bigint NOT NULL,
  PRIMARY KEY (org_id, rule_id, channel_id)
) WITH (fillfactor = 50);

-- Replays of the last hour, of each organisation.
CREATE TABLE notification_replays (
  org_id       integer NOT NULL,
  replayed_at  timestamptz NOT NULL,
  notification bigint NOT NULL
);
CREATE INDEX notification_replays_of ON notification_replays (org_id, replayed_at);

-- Fans one event out to the channels of its rule, in the caller's transaction. Each gets it by its open delivery, whose window is
-- prolonged, or by a new one. Answers the number of channels.
CREATE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  one    alert_events;
  bound  record;
  taker bigint;
  at     timestamptz;
  size   integer;
  number integer := 0;
BEGIN
  SELECT * INTO one FROM alert_events WHERE org_id = org AND event_no = event AND fanned_out_at IS NULL FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  size := octet_length(one.snapshot) + 1;  -- and a comma or bracket
  IF NOT one.suppressed AND EXISTS (SELECT FROM alert_rules r WHERE r.org_id = org AND r.rule_id = one.rule_id AND r.status = 'active') THEN
    FOR bound IN SELECT c.channel_id, c.shard, c.route_id FROM rule_channels b JOIN channels c USING (org_id, channel_id)
                 WHERE b.org_id = org AND b.rule_id = one.rule_id AND c.deleted_at IS NULL AND c.disabled_at IS NULL
                 ORDER BY c.channel_id LOOP
      -- Locked until the end: events of one rule and channel go one behind the other.
      INSERT INTO notification_windows AS w VALUES (org, one.rule_id, bound.channel_id, 0)
      ON CONFLICT (org_id, rule_id, channel_id) DO UPDATE SET latest = w.latest RETURNING w.latest INTO taker;
      at := clock_timestamp();
      UPDATE notifications n SET bytes = n.bytes + size
      WHERE n.shard = bound.shard AND n.delivery_id = taker AND n.bytes + size <= max_bytes
        AND EXISTS (SELECT FROM ready r WHERE r.shard = bound.shard AND r.delivery_id = taker AND r.status = 'open');
      IF FOUND THEN
        UPDATE ready SET due_at = at + debounce WHERE shard = bound.shard AND delivery_id = taker AND status = 'open';
      END IF;
      IF NOT FOUND THEN
        taker := nextval('object_ids') * 1024 + bound.shard;
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)
        VALUES (bound.shard, taker, org, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || bound.channel_id, 'as_delivery', '', at);
        INSERT INTO notifications VALUES (bound.shard, taker, org, one.rule_id, bound.channel_id, at, size + 1, taker);
        INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
        VALUES (bound.shard, taker, org, taker, 1, bound.route_id, at + debounce, 'open');
        UPDATE notification_windows w SET latest = taker
        WHERE w.org_id = org AND w.rule_id = one.rule_id AND w.channel_id = bound.channel_id;
      END IF;
      INSERT INTO notification_events VALUES (bound.shard, taker, event, org);
      number := number + 1;
    END LOOP;
  END IF;
  UPDATE alert_events SET fanned_out_at = clock_timestamp() WHERE org_id = org AND event_no = event;
  RETURN number;
END $$;

-- The body of a notification: the JSON array of its events' snapshots, in the order in which they came.
CREATE FUNCTION notification_body(of_shard smallint, of_delivery bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT '[' || string_agg(e.snapshot, ',' ORDER BY e.event_no) || ']'
  FROM notification_events n JOIN alert_events e ON e.event_no = n.event_no
  WHERE n.shard = of_shard AND n.delivery_id = of_delivery
$$;

-- What retention deletes, with the owner's rights: nobody else deletes a submission. Kept is what has not ended or has a dead letter.
CREATE FUNCTION delete_old(of_shard smallint, ids bigint[]) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  WITH old AS MATERIALIZED (
    SELECT s.id, s.org_id FROM submissions s
    WHERE s.shard = of_shard AND s.id = ANY (ids)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.delivery_id = s.id)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id
                                            AND r.delivery_id <> r.submission_id)
      AND NOT EXISTS (SELECT FROM dead_letters l WHERE l.shard = of_shard AND l.id = s.id)),
  sent AS MATERIALIZED (
    SELECT id FROM old
    UNION ALL SELECT d.id FROM old o JOIN deliveries d ON d.shard = of_shard AND d.org_id = o.org_id AND d.submission_id = o.id
                                                        AND d.id <> d.submission_id),
  a AS (DELETE FROM artifacts x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  b AS (DELETE FROM edited_payloads x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  c AS (DELETE FROM notification_events x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  d AS (DELETE FROM notifications x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  e AS (DELETE FROM deliveries x USING sent s WHERE x.shard = of_shard AND x.id = s.id),
  f AS (DELETE FROM submissions x USING old o WHERE x.shard = of_shard AND x.id = o.id)
  SELECT count(*) FROM old
$$;
CREATE FUNCTION delete_old_events(age interval, rows integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  WITH gone AS (
    DELETE FROM alert_events WHERE event_no = ANY (ARRAY(
      SELECT event_no FROM alert_events e
      WHERE created_at < now() - age AND fanned_out_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM notification_events n WHERE n.event_no = e.event_no)
      ORDER BY created_at LIMIT rows)) RETURNING 1)
  SELECT count(*) FROM gone
$$;

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['fan_out(integer, bigint, interval, integer)', 'notification_body(smallint, bigint)', 'delete_old(smallint, bigint[])',
                             'delete_old_events(interval, integer)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
  END LOOP;
END $$;

-- What has its owner's rights, or works for all organisations, is not everybody's: `waybill roles` gives it to the application.
REVOKE ALL ON FUNCTION fan_out(integer, bigint, interval, integer), notification_body(smallint, bigint), delete_old(smallint, bigint[]),
  delete_old_events(interval, integer) FROM PUBLIC;

ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check;
ALTER TABLE alerts ADD CONSTRAINT alerts_kind_check CHECK (kind IN ('dead_letter', 'infected_attachment', 'stuck', 'provider_failures', 'plugin_crash',
                                                                  'plugin_switched_off', 'channel_disabled', 'old_secret'));

UPDATE access_rules SET tenant = 'SELECT, INSERT' WHERE table_name = 'contract_snapshots';
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('alert_events',         'SELECT, INSERT, UPDATE',         'SELECT', NULL, 'SELECT'),
  ('alert_rules',          'SELECT, INSERT, UPDATE',         'SELECT', NULL, 'SELECT, INSERT, UPDATE'),
  ('channel_types',        'SELECT',                         'SELECT', NULL, 'SELECT'),
  ('channels',             'SELECT, INSERT, UPDATE',
   'SELECT (org_id, channel_id, shard, route_id, name, type, rotated_at, failing_since, disabled_at, disabled_reason, deleted_at, created_at, updated_at)',
   NULL, 'SELECT, INSERT, UPDATE'),
  ('notification_events',  'SELECT, INSERT',                 'SELECT', 'delivery', 'SELECT'),
  ('notification_replays', 'SELECT, INSERT, DELETE',         'SELECT', NULL, NULL),
  ('notification_states',  'SELECT',                         'SELECT', NULL, 'SELECT'),
  ('notification_windows', 'SELECT, INSERT, UPDATE',         'SELECT', NULL, NULL),
  ('notifications',        'SELECT, INSERT, UPDATE',         'SELECT', 'delivery', 'SELECT'),
  ('org_keys',             'SELECT, INSERT, UPDATE',         'SELECT (org_id, key_id, master, created_at)', NULL, 'SELECT, INSERT'),
  ('rule_channels',        'SELECT, INSERT, DELETE',         'SELECT', NULL, 'SELECT, INSERT, DELETE');
