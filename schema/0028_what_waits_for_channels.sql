-- Runs beside: 27
--
-- Events for a disabled channel are collected as for any other, and wait for it. A window closes when its longest time is over, whatever
-- comes. Orphaned events are found by turns of their organisations, and fanned out many at a time. A host of version 27 ends what waits
-- for a disabled channel as failed, as it always did; it closes windows after ten minutes.
--
-- Locks: writes to `alert_events` wait while an index of what is not fanned out is made.

-- ---- fanning out ----

-- Fans one event out to the channels of its rule, in the caller's transaction. Each gets it by its open delivery, whose window is
-- prolonged up to its longest time, or by a new one. Answers the number of channels.
CREATE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer, max_wait interval) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  one    alert_events;
  bound  record;
  taker  bigint;
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
                 WHERE b.org_id = org AND b.rule_id = one.rule_id AND c.deleted_at IS NULL
                 ORDER BY c.channel_id LOOP
      -- Locked until the end: events of one rule and channel go one behind the other.
      INSERT INTO notification_windows AS w VALUES (org, one.rule_id, bound.channel_id, 0)
      ON CONFLICT (org_id, rule_id, channel_id) DO UPDATE SET latest = w.latest RETURNING w.latest INTO taker;
      at := clock_timestamp();
      -- The queue's row first, and what is counted only once it is ours: a claim may have been quicker.
      UPDATE ready r SET due_at = least(at + debounce, n.created_at + max_wait)
      FROM notifications n
      WHERE r.shard = bound.shard AND r.delivery_id = taker AND r.status = 'open'
        AND n.shard = bound.shard AND n.delivery_id = taker AND n.bytes + size <= max_bytes;
      IF FOUND THEN
        UPDATE notifications SET bytes = bytes + size WHERE shard = bound.shard AND delivery_id = taker;
      ELSE
        taker := nextval('object_ids') * 1024 + bound.shard;
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)
        VALUES (bound.shard, taker, org, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || bound.channel_id, 'as_delivery', '', at);
        INSERT INTO notifications VALUES (bound.shard, taker, org, one.rule_id, bound.channel_id, at, size + 1, taker);
        INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
        VALUES (bound.shard, taker, org, taker, 1, bound.route_id, at + least(debounce, max_wait), 'open');
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

-- As a host of version 27 calls it.
CREATE OR REPLACE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer) RETURNS integer LANGUAGE sql AS $$
  SELECT fan_out(org, event, debounce, max_bytes, interval '10 minutes')
$$;

-- ---- orphaned events ----

CREATE INDEX alert_events_turns ON alert_events (org_id, event_no) WHERE fanned_out_at IS NULL;
DROP INDEX alert_events_left;

-- Fans out these events of one organisation, and answers those that could not be, with the reason. Windows are locked in one order,
-- whoever else does the same: by rule and channel. The first lock that is held makes the other events of its rule wait for another time.
CREATE FUNCTION adopt_events(org integer, events bigint[], debounce interval, max_bytes integer, max_wait interval)
RETURNS TABLE (refused bigint, why text) LANGUAGE plpgsql AS $$
DECLARE
  one  record;
  held uuid;
BEGIN
  FOR one IN SELECT e.event_no, e.rule_id FROM alert_events e
             WHERE e.org_id = org AND e.event_no = ANY (events) AND e.fanned_out_at IS NULL ORDER BY e.rule_id, e.event_no LOOP
    CONTINUE WHEN one.rule_id = held;
    BEGIN
      PERFORM fan_out(org, one.event_no, debounce, max_bytes, max_wait);
    EXCEPTION
      WHEN lock_not_available THEN
        held := one.rule_id;
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
      WHEN OTHERS THEN
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
    END;
  END LOOP;
END $$;

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['fan_out(integer, bigint, interval, integer)', 'fan_out(integer, bigint, interval, integer, interval)',
                             'adopt_events(integer, bigint[], interval, integer, interval)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
  END LOOP;
  -- Events of other rules and organisations wait for the same session.
  ALTER FUNCTION adopt_events(integer, bigint[], interval, integer, interval) SET lock_timeout TO '100ms';
END $$;

-- Works for all organisations: not everybody's, `waybill roles` gives it to the application.
REVOKE ALL ON FUNCTION fan_out(integer, bigint, interval, integer, interval),
  adopt_events(integer, bigint[], interval, integer, interval) FROM PUBLIC;
