-- Opens or extends a notification for each channel of the event's rule. Answers how many channels. A window ends `debounce` after its last
-- event, and `max_wait` after its first at the latest. It belongs to the trace of the event that opened it.
CREATE OR REPLACE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer, max_wait interval)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
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
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, trace)
        VALUES (bound.shard, taker, org, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || bound.channel_id, 'as_delivery', '', at, one.trace);
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
END $function$;

-- As hosts of version 27 call it.
CREATE OR REPLACE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer)
 RETURNS integer
 LANGUAGE sql
 SET search_path FROM CURRENT
AS $function$
  SELECT fan_out(org, event, debounce, max_bytes, interval '10 minutes')
$function$;
