-- Notifications: channels, alert rules, bindings, events, and what was delivered. Used by notify_store.cpp, notify_rows.cpp and
-- settle_store.cpp.
-- Every statement names the organisation: a value of a tenant never selects another one's row.

-- name: add_channel
-- Stores a channel. No row if a living channel of the organisation has that name.
-- $1 organisation, $2 id, $3 shard, $4 route, $5 name, $6 type, $7 settings, $8 number of the data key, $9 sealed secret
INSERT INTO channels (org_id, channel_id, shard, route_id, name, type, config, key_id, secret)
VALUES ($1, $2::uuid, $3, $4, $5, $6, $7, $8, $9::bytea) ON CONFLICT (org_id, name) WHERE deleted_at IS NULL DO NOTHING
RETURNING channel_id;

-- name: list_channels
-- Lists living channels in the order of their names.
-- $1 organisation, $2 name behind which the page begins or null, $3 rows, $4 id or null for all
SELECT channel_id, name, type, config, micros(created_at), micros(updated_at), secondary_secret IS NOT NULL, micros(disabled_at),
       coalesce(disabled_reason, '')
FROM channels
WHERE org_id = $1 AND deleted_at IS NULL AND ($2::text IS NULL OR name > $2) AND ($4::uuid IS NULL OR channel_id = $4::uuid)
ORDER BY name LIMIT $3::integer;

-- name: channel_secrets
-- Locks a living channel and reads what its secrets are sealed with.
-- $1 organisation, $2 channel
SELECT key_id, encode(secret, 'hex') FROM channels WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL FOR UPDATE;

-- name: change_channel
-- Changes a living channel; null keeps what is there. No row if there is none. A name that is taken violates the unique index.
-- $1 organisation, $2 channel, $3 name, $4 settings, $5 whether it is to be enabled again
UPDATE channels SET name = coalesce($3, name), config = coalesce($4, config), updated_at = now(),
                    failing_since = CASE WHEN $5::boolean THEN NULL ELSE failing_since END,
                    disabled_at = CASE WHEN $5::boolean THEN NULL ELSE disabled_at END,
                    disabled_reason = CASE WHEN $5::boolean THEN NULL ELSE disabled_reason END
WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: delete_channel
-- Deletes a living channel, unless an active rule is bound to it. Answers whether there is one, and whether it was deleted.
-- $1 organisation, $2 channel
WITH living AS (SELECT channel_id FROM channels WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL FOR UPDATE),
gone AS (
  UPDATE channels c SET deleted_at = now() FROM living l
  WHERE c.org_id = $1 AND c.channel_id = l.channel_id
    AND NOT EXISTS (SELECT FROM rule_channels b JOIN alert_rules r USING (org_id, rule_id)
                    WHERE b.org_id = $1 AND b.channel_id = l.channel_id AND r.status = 'active')
  RETURNING c.channel_id),
unbound AS (DELETE FROM rule_channels b USING gone g WHERE b.org_id = $1 AND b.channel_id = g.channel_id)
SELECT EXISTS (SELECT FROM living), EXISTS (SELECT FROM gone);

-- name: rotate_secret
-- Puts a new secret in a channel's first place; the old one comes second.
-- $1 organisation, $2 channel, $3 sealed secret, $4 number of its data key, $5 the old secret, sealed with the same data key
UPDATE channels SET secret = $3::bytea, key_id = $4, secondary_secret = $5::bytea, rotated_at = now(), updated_at = now()
WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: clear_secondary
-- Forgets a channel's second secret.
-- $1 organisation, $2 channel
UPDATE channels SET secondary_secret = NULL, updated_at = now()
WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: lock_numbers
-- Locks the numbers of an organisation's channels and rules until the transaction ends, so that two requests do not take the last place.
-- $1 organisation
SELECT pg_advisory_xact_lock(hashtext('waybill-channels:' || current_schema()), $1::integer);

-- name: count_channels
-- Counts living channels. Runs after lock_numbers.
-- $1 organisation
SELECT count(*) FROM channels WHERE org_id = $1 AND deleted_at IS NULL;

-- name: count_rules
-- Counts living alert rules. Runs after lock_numbers.
-- $1 organisation
SELECT count(*) FROM alert_rules WHERE org_id = $1 AND deleted_at IS NULL;

-- name: add_rule
-- Stores an alert rule.
-- $1 organisation, $2 name, $3 status
INSERT INTO alert_rules (org_id, name, status) VALUES ($1, $2, $3) RETURNING rule_id;

-- name: list_rules
-- Lists living alert rules, the newest first.
-- $1 organisation, $2 when made (microseconds) and $3 rule behind which the page begins, or nulls, $4 rows
SELECT rule_id, name, status, micros(created_at), micros(updated_at) FROM alert_rules
WHERE org_id = $1 AND deleted_at IS NULL AND ($2::bigint IS NULL OR (created_at, rule_id) < (at_micros($2), $3::uuid))
ORDER BY created_at DESC, rule_id DESC LIMIT $4::integer;

-- name: find_rule
-- Reads a living alert rule as list_rules does.
-- $1 organisation, $2 rule
SELECT rule_id, name, status, micros(created_at), micros(updated_at) FROM alert_rules
WHERE org_id = $1 AND rule_id = $2::uuid AND deleted_at IS NULL;

-- name: delete_rule
-- Deletes a living alert rule with its bindings. It stays as deleted while there are events of it; earlier ones without events go now.
-- Answers one row if there was one.
-- $1 organisation, $2 rule
WITH gone AS (
  UPDATE alert_rules SET deleted_at = now(), status = 'disabled', updated_at = now()
  WHERE org_id = $1 AND rule_id = $2::uuid AND deleted_at IS NULL RETURNING rule_id),
unbound AS (DELETE FROM rule_channels b USING gone g WHERE b.org_id = $1 AND b.rule_id = g.rule_id),
swept AS (
  DELETE FROM alert_rules r WHERE r.org_id = $1 AND r.deleted_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM alert_events e WHERE e.org_id = $1 AND e.rule_id = r.rule_id))
SELECT rule_id FROM gone;

-- name: change_rule
-- Changes a living alert rule; null keeps what is there.
-- $1 organisation, $2 rule, $3 name, $4 status
UPDATE alert_rules SET name = coalesce($3, name), status = coalesce($4, status), updated_at = now()
WHERE org_id = $1 AND rule_id = $2::uuid AND deleted_at IS NULL RETURNING rule_id;

-- name: bound_channels
-- Lists the living channels that a rule is bound to, in the order of their names.
-- $1 organisation, $2 rule, $3 name behind which the page begins or null, $4 rows
SELECT c.channel_id, c.name, c.type, c.config, micros(c.created_at), micros(c.updated_at), c.secondary_secret IS NOT NULL,
       micros(c.disabled_at), coalesce(c.disabled_reason, '')
FROM rule_channels b JOIN channels c USING (org_id, channel_id)
WHERE b.org_id = $1 AND b.rule_id = $2::uuid AND c.deleted_at IS NULL AND ($3::text IS NULL OR c.name > $3)
ORDER BY c.name LIMIT $4::integer;

-- name: bind_channel
-- Binds a living channel to a rule. Answers whether both are there. The channel's row is locked, so that it is not deleted
-- meanwhile.
-- $1 organisation, $2 rule, $3 channel
WITH there AS (
  SELECT r.rule_id, c.channel_id FROM alert_rules r, channels c
  WHERE r.org_id = $1 AND r.rule_id = $2::uuid AND r.deleted_at IS NULL AND c.org_id = $1 AND c.channel_id = $3::uuid AND c.deleted_at IS NULL
  FOR SHARE OF c),
bound AS (INSERT INTO rule_channels (org_id, rule_id, channel_id) SELECT $1, rule_id, channel_id FROM there ON CONFLICT DO NOTHING)
SELECT EXISTS (SELECT FROM there);

-- name: unbind_channel
-- Ends a binding. Answers one row if there was one.
-- $1 organisation, $2 rule, $3 channel
DELETE FROM rule_channels WHERE org_id = $1 AND rule_id = $2::uuid AND channel_id = $3::uuid RETURNING channel_id;

-- name: add_event
-- Stores an event of a rule, if the rule is there and the event is new.
-- $1 organisation, $2 rule, $3 the event's id, $4 snapshot, $5 whether nothing is to be delivered
INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, suppressed)
SELECT $1, rule_id, $3, $4, $5::boolean FROM alert_rules WHERE org_id = $1 AND rule_id = $2::uuid AND deleted_at IS NULL
ON CONFLICT (org_id, rule_id, event_id) DO NOTHING RETURNING event_no;

-- name: is_same_event
-- Compares a known event of a rule with one that is handed in under its id.
-- $1 organisation, $2 rule, $3 the event's id, $4 snapshot, $5 whether nothing is to be delivered
SELECT snapshot = $4 AND suppressed = $5::boolean FROM alert_events WHERE org_id = $1 AND rule_id = $2::uuid AND event_id = $3;

-- name: fan_out_event
-- Fans an event out to the channels of its rule. Answers to how many.
-- $1 organisation, $2 the event's number, $3 the window in milliseconds, $4 bytes that a notification may have, $5 the longest window in
-- milliseconds
SELECT fan_out($1, $2, $3::bigint * interval '1 millisecond', $4::integer, $5::bigint * interval '1 millisecond');

-- name: events_left
-- Lists events that nobody has fanned out, of several organisations: of each the first ones, in the order of their numbers. An event from
-- the far future is as good as old. One row with nulls for an organisation that has none that is old enough.
-- $1 their least age in milliseconds, $2 the organisation behind which the page begins, $3 organisations, $4 events of each
-- Per organisation with events that could not be fanned out: $5 organisation, $6 event behind which it goes on
WITH RECURSIVE turn AS (
  (SELECT org_id FROM alert_events WHERE fanned_out_at IS NULL AND org_id > $2 ORDER BY org_id LIMIT 1)
  UNION ALL
  SELECT next.org_id FROM turn, LATERAL (
    SELECT org_id FROM alert_events WHERE fanned_out_at IS NULL AND org_id > turn.org_id ORDER BY org_id LIMIT 1) next)
SELECT t.org_id, e.event_no
FROM (SELECT turn.org_id, coalesce(t.behind, 0) AS behind
      FROM (SELECT org_id FROM turn LIMIT $3::integer) turn LEFT JOIN unnest($5::integer[], $6::bigint[]) AS t(org_id, behind) USING (org_id)) t
LEFT JOIN LATERAL (
  SELECT event_no FROM alert_events
  WHERE org_id = t.org_id AND fanned_out_at IS NULL AND event_no > t.behind
    AND (created_at <= now() - $1::bigint * interval '1 millisecond' OR created_at > now() + interval '1 hour')
  ORDER BY event_no LIMIT $4::integer) e ON true
ORDER BY t.org_id, e.event_no;

-- name: adopt_events
-- Fans out these events. Answers those that could not be, with the reason.
-- $1 organisation, $2 events, $3 the window in milliseconds, $4 bytes that a notification may have, $5 the longest window in milliseconds
SELECT refused, why
FROM adopt_events($1, $2::bigint[], $3::bigint * interval '1 millisecond', $4::integer, $5::bigint * interval '1 millisecond');

-- name: channel_route
-- Reads where the deliveries of a channel wait, also of a deleted one.
-- $1 organisation, $2 channel
SELECT shard, route_id FROM channels WHERE org_id = $1 AND channel_id = $2::uuid;

-- name: end_channel_cooldown
-- Ends the outage of a channel, because somebody has mended it or asks to try it now.
-- $1 organisation, $2 channel
DELETE FROM target_rests
WHERE org_id = $1 AND target = (SELECT 'channel:' || channel_id FROM channels WHERE org_id = $1 AND channel_id = $2::uuid);

-- name: end_notification_cooldown
-- Ends the outage of the channel of a notification.
-- $1 shard, $2 id, $3 organisation
DELETE FROM target_rests
WHERE org_id = $3 AND target = (SELECT 'channel:' || channel_id FROM notifications WHERE shard = $1 AND delivery_id = $2 AND org_id = $3);

-- name: make_channel_due
-- Makes due what waits for a channel for later, the oldest first. None becomes due later than it would be. Answers for each whether it is
-- one that was never attempted, of a notification made in the window.
-- $1 shard, $2 route, $3 rows, $4 microseconds between two, $5 since and $6 until in microseconds
WITH waits AS MATERIALIZED (
  SELECT place, row_number() OVER (ORDER BY delivery_id) AS turn
  FROM (SELECT ctid AS place, delivery_id FROM ready
        WHERE shard = $1 AND route_id = $2 AND queued AND status = 'due' AND due_at > now()
        ORDER BY due_at, delivery_id LIMIT $3::integer FOR UPDATE SKIP LOCKED) locked)
UPDATE ready r SET due_at = least(r.due_at, now() + (w.turn - 1) * $4::bigint * interval '1 microsecond')
FROM waits w
WHERE r.shard = $1 AND r.ctid = w.place
RETURNING r.attempt_count = 0 AND EXISTS (SELECT FROM notifications n WHERE n.shard = $1 AND n.delivery_id = r.delivery_id
                                            AND n.created_at >= at_micros($5) AND n.created_at < at_micros($6));

-- name: unattempted_notifications
-- Counts what waits for a channel for later and was never attempted, of notifications made in a window.
-- $1 shard, $2 route, $3 rows, $4 since and $5 until in microseconds
SELECT count(*)
FROM (SELECT FROM ready r JOIN notifications n ON n.shard = $1 AND n.delivery_id = r.delivery_id
      WHERE r.shard = $1 AND r.route_id = $2 AND r.queued AND r.status = 'due' AND r.due_at > now() AND r.attempt_count = 0
        AND n.created_at >= at_micros($4) AND n.created_at < at_micros($5)
      LIMIT $3::integer) counted;

-- name: list_notifications
-- Reads a page of notifications, the newest first. It walks an index, and no further than $7 rows; the row where the walk stopped for that is
-- answered as well, marked as such.
-- $1 organisation; null allows any value: $2 rule, $3 status; $4 when made (microseconds) and $5 id behind which the page begins, $6 rows to
-- answer at most, $7 rows to walk at most
SELECT n.delivery_id, coalesce(n.rule_id::text, ''), n.channel_id, n.status, n.attempt_count, micros(n.created_at), micros(n.send_after),
       micros(n.delivered_at), f.fits, w.place = $7::bigint
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = $1 AND (created_at, delivery_id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT $7::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT ($2::uuid IS NULL OR n.rule_id = $2) AND ($3::text IS NULL OR n.status = $3) AS fits) f
WHERE f.fits OR w.place = $7::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT $6::bigint;

-- name: list_notifications_of_rule
-- The same for one rule, by an index of its own.
-- $1 to $7 as above; $2 is no null
SELECT n.delivery_id, coalesce(n.rule_id::text, ''), n.channel_id, n.status, n.attempt_count, micros(n.created_at), micros(n.send_after),
       micros(n.delivered_at), f.fits, w.place = $7::bigint
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = $1 AND rule_id = $2::uuid AND (created_at, delivery_id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT $7::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT ($2::uuid IS NULL OR n.rule_id = $2) AND ($3::text IS NULL OR n.status = $3) AS fits) f
WHERE f.fits OR w.place = $7::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT $6::bigint;

-- name: list_notifications_of_channel
-- The same for one channel.
-- $1 to $7 as above, $8 channel
SELECT n.delivery_id, coalesce(n.rule_id::text, ''), n.channel_id, n.status, n.attempt_count, micros(n.created_at), micros(n.send_after),
       micros(n.delivered_at), f.fits, w.place = $7::bigint
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = $1 AND channel_id = $8::uuid AND (created_at, delivery_id) < (at_micros($4), $5::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT $7::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT ($2::uuid IS NULL OR n.rule_id = $2) AND ($3::text IS NULL OR n.status = $3) AS fits) f
WHERE f.fits OR w.place = $7::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT $6::bigint;

-- name: find_notification
-- Reads one notification with the first eight columns of list_notifications, and its body.
-- $1 shard, $2 id, $3 organisation
SELECT n.delivery_id, coalesce(n.rule_id::text, ''), n.channel_id, n.status, n.attempt_count, micros(n.created_at), micros(n.send_after),
       micros(n.delivered_at),
       coalesce((SELECT '[' || string_agg(e.snapshot, ',' ORDER BY e.event_no) || ']'
                 FROM notification_events m JOIN alert_events e USING (org_id, event_no)
                 WHERE m.shard = n.shard AND m.delivery_id = n.delivery_id),
                (SELECT convert_from(s.body, 'UTF8') FROM submissions s WHERE s.shard = n.shard AND s.id = n.delivery_id))
FROM notification_states n
WHERE n.shard = $1 AND n.delivery_id = $2 AND n.org_id = $3;

-- name: notification_attempts
-- Reads the attempts of a notification and of its replays, in order of time.
-- $1 shard, $2 id
SELECT a.number, micros(a.started_at), micros(a.finished_at), a.outcome, coalesce(a.reason, ''), coalesce(a.error, ''), a.counts,
       coalesce(a.code, 0), coalesce(a.provider_ref, ''), a.maybe_sent, coalesce(a.answer::text, '')
FROM attempts a
WHERE a.shard = $1 AND a.delivery_id = ANY (ARRAY(
  SELECT $2::bigint
  UNION ALL SELECT id FROM deliveries d JOIN notifications n ON n.shard = d.shard AND n.org_id = d.org_id AND n.delivery_id = d.submission_id
            WHERE n.shard = $1 AND n.delivery_id = $2 AND d.id <> d.submission_id
  UNION ALL SELECT latest FROM notifications n WHERE n.shard = $1 AND n.delivery_id = $2 AND latest <> $2))
ORDER BY a.started_at, a.number;

-- name: lock_notification
-- Locks a notification and reads whether its latest delivery has ended, and whether its channel still takes deliveries.
-- $1 shard, $2 id, $3 organisation
SELECT EXISTS (SELECT FROM deliveries d WHERE d.shard = n.shard AND d.id = n.latest), c.deleted_at IS NULL, c.disabled_at IS NULL
FROM notifications n JOIN channels c USING (org_id, channel_id) JOIN submissions s ON s.shard = n.shard AND s.id = n.delivery_id
WHERE n.shard = $1 AND n.delivery_id = $2 AND n.org_id = $3 FOR UPDATE OF n FOR SHARE OF s;

-- name: lock_replays
-- Locks an organisation's replays until the transaction ends, so that two requests do not take the same permit.
-- $1 organisation
SELECT pg_advisory_xact_lock(hashtext('waybill-replays:' || current_schema()), $1::integer);

-- name: replay_permit
-- Takes one of the replays that an organisation has in an hour; no row when they are used up. Runs after lock_replays.
-- $1 organisation, $2 notification, $3 replays in an hour
WITH old AS (DELETE FROM notification_replays WHERE org_id = $1 AND replayed_at <= now() - interval '1 hour')
INSERT INTO notification_replays (org_id, replayed_at, notification)
SELECT $1::integer, now(), $2::bigint
WHERE (SELECT count(*) FROM notification_replays WHERE org_id = $1 AND replayed_at > now() - interval '1 hour') < $3::bigint
RETURNING 1;

-- name: failed_notifications
-- Locks the notifications of a living, enabled channel that failed in a window, the oldest first, and lists them. Those that are
-- being replayed or deleted are left out.
-- $1 organisation, $2 channel, $3 since and $4 until in microseconds, $5 rows
SELECT n.shard, n.delivery_id
FROM channels c JOIN notifications n USING (org_id, channel_id)
JOIN deliveries d ON d.shard = n.shard AND d.id = n.latest AND d.status <> 'accepted'
JOIN submissions s ON s.shard = n.shard AND s.id = n.delivery_id
WHERE c.org_id = $1 AND c.channel_id = $2::uuid AND c.deleted_at IS NULL AND c.disabled_at IS NULL
  AND n.created_at >= at_micros($3) AND n.created_at < at_micros($4) AND n.rule_id IS NOT NULL
ORDER BY n.created_at, n.delivery_id LIMIT $5::integer FOR UPDATE OF n SKIP LOCKED FOR SHARE OF s SKIP LOCKED;

-- name: replay_notifications
-- Makes each of these notifications, which have ended and are locked, a new delivery with all its attempts before it. The first
-- is due behind so many others, and each other one a while after the one before.
-- Per notification: $1 shard, $2 id; $3 organisation, $4 actor, $5 trigger: replay or recover, $6 microseconds between two, $7 others
WITH wanted AS MATERIALIZED (
  SELECT n.shard, n.delivery_id, n.org_id, c.route_id, nextval('object_ids') * 1024 + n.shard AS fresh,
         now() + (t.place - 1 + $7::bigint) * $6::bigint * interval '1 microsecond' AS due,
         (SELECT coalesce(max(d.replay), 0) + 1 FROM deliveries d
          WHERE d.shard = n.shard AND d.org_id = n.org_id AND d.submission_id = n.delivery_id AND d.id <> d.submission_id AND d.action_order = 1)
           AS replay
  FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS t(shard, id, place)
  JOIN notifications n ON n.shard = t.shard AND n.delivery_id = t.id JOIN channels c USING (org_id, channel_id)
  WHERE n.org_id = $3),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, replay, route_id, due_at, status, maybe_sent)
  SELECT shard, fresh, org_id, delivery_id, 1, replay, route_id, due, 'due', true FROM wanted),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
  SELECT shard, delivery_id, clock_timestamp(), org_id, fresh, 'notification_replayed', $5, $4, 'admin', jsonb_build_object('replay', replay)
  FROM wanted)
UPDATE notifications n SET latest = w.fresh FROM wanted w WHERE n.shard = w.shard AND n.delivery_id = w.delivery_id;

-- name: test_channel
-- Stores a test event for a living, enabled channel, due now and with one attempt. Answers its id; no row without the channel.
-- $1 organisation, $2 channel, $3 the route of its one attempt, $4 body
WITH living AS (
  SELECT shard, channel_id, nextval('object_ids') * 1024 + shard AS id FROM channels
  WHERE org_id = $1 AND channel_id = $2::uuid AND deleted_at IS NULL AND disabled_at IS NULL),
stored AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT shard, id, $1, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || channel_id, 'as_delivery', '', now(),
         convert_to($4, 'UTF8') FROM living),
noted AS (
  INSERT INTO notifications (shard, delivery_id, org_id, channel_id, created_at, bytes, latest)
  SELECT shard, id, $1, channel_id, now(), octet_length($4), id FROM living),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
  SELECT shard, id, $1, id, 1, $3, now(), 'due' FROM living)
SELECT id FROM living;

-- name: record_channel_results
-- Records how attempts of channels ended, and answers the channels that are disabled for it. It waits for no lock longer than a moment.
-- Per channel: $1 organisation, $2 channel, $3 how: accepted, failed or gone; $4 milliseconds of failures that disable a channel
SELECT disabled_channel, why FROM record_channel_results($1::integer[], $2::uuid[], $3::text[], $4::bigint * interval '1 millisecond');

-- name: old_secondaries
-- Reminds of second secrets that stay for longer than they should, each once a day.
-- $1 the grace in milliseconds
SELECT remind_alert(org_id, 'old_secret', channel_id::text,
                    'the secret before the last rotation of channel ' || name || ' still signs: clear it once receivers have the new one',
                    interval '1 day')
FROM channels WHERE secondary_secret IS NOT NULL AND deleted_at IS NULL AND rotated_at <= now() - $1::bigint * interval '1 millisecond';
