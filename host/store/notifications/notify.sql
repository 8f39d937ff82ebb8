-- Notifications: channels, alert rules, bindings, events, and what was delivered. Used by notify_store.cpp, notify_rows.cpp and
-- settle_store.cpp.
-- Every statement names the organisation: a value of a tenant never selects another one's row.

-- name: add_channel
-- Stores a channel. No row if a living channel of the organisation has that name.
-- takes: org, id, shard, route, name, type, config, data_key, sealed_secret
-- returns: channel_id text
INSERT INTO channels (org_id, channel_id, shard, route_id, name, type, config, key_id, secret)
VALUES (:org, :id::uuid, :shard, :route, :name, :type, :config, :data_key, :sealed_secret::bytea)
ON CONFLICT (org_id, name) WHERE deleted_at IS NULL DO NOTHING
RETURNING channel_id;

-- name: list_channels
-- Lists living channels in the order of their names.
-- Null: :after begins with the first name, :id allows all channels.
-- takes: org, after, most, id
-- returns: channel_id text, name text, type text, config text, created time, updated time, has_secondary flag, disabled time?
-- returns: disabled_reason text
SELECT channel_id,
       name,
       type,
       config,
       micros(created_at) AS created,
       micros(updated_at) AS updated,
       secondary_secret IS NOT NULL AS has_secondary,
       micros(disabled_at) AS disabled,
       coalesce(disabled_reason, '') AS disabled_reason
FROM channels
WHERE org_id = :org AND deleted_at IS NULL AND (:after::text IS NULL OR name > :after) AND (:id::uuid IS NULL OR channel_id = :id::uuid)
ORDER BY name LIMIT :most::integer;

-- name: channel_secrets
-- Locks a living channel and reads what its secrets are sealed with.
-- takes: org, channel
-- returns: key_id number, secret text
SELECT key_id, encode(secret, 'hex') AS secret FROM channels
WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL FOR UPDATE;

-- name: change_channel
-- Changes a living channel; null keeps what is there. No row if there is none. A name that is taken violates the unique index.
-- takes: org, channel, name, config, enable
-- returns: channel_id text
UPDATE channels SET name = coalesce(:name, name), config = coalesce(:config, config), updated_at = now(),
                    failing_since = CASE WHEN :enable::boolean THEN NULL ELSE failing_since END,
                    disabled_at = CASE WHEN :enable::boolean THEN NULL ELSE disabled_at END,
                    disabled_reason = CASE WHEN :enable::boolean THEN NULL ELSE disabled_reason END
WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: delete_channel
-- Deletes a living channel, unless an active rule is bound to it. Answers whether there is one, and whether it was deleted.
-- takes: org, channel
-- returns: is_there flag, is_deleted flag
WITH living AS (SELECT channel_id FROM channels WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL FOR UPDATE),
gone AS (
  UPDATE channels c SET deleted_at = now() FROM living l
  WHERE c.org_id = :org AND c.channel_id = l.channel_id
    AND NOT EXISTS (SELECT FROM rule_channels b JOIN alert_rules r USING (org_id, rule_id)
                    WHERE b.org_id = :org AND b.channel_id = l.channel_id AND r.status = 'active')
  RETURNING c.channel_id),
unbound AS (DELETE FROM rule_channels b USING gone g WHERE b.org_id = :org AND b.channel_id = g.channel_id)
SELECT EXISTS (SELECT FROM living) AS is_there, EXISTS (SELECT FROM gone) AS is_deleted;

-- name: rotate_secret
-- Puts a new secret in a channel's first place; the old one comes second.
-- :data_key seals both.
-- takes: org, channel, sealed_secret, data_key, sealed_old_secret
-- returns: channel_id text
UPDATE channels SET secret = :sealed_secret::bytea, key_id = :data_key, secondary_secret = :sealed_old_secret::bytea,
                    rotated_at = now(), updated_at = now()
WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: clear_secondary
-- Forgets a channel's second secret.
-- takes: org, channel
-- returns: channel_id text
UPDATE channels SET secondary_secret = NULL, updated_at = now()
WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL RETURNING channel_id;

-- name: lock_numbers
-- Locks the numbers of an organisation's channels and rules until the transaction ends, so that two requests do not take the last place.
-- takes: org
-- returns: locked text
SELECT pg_advisory_xact_lock(hashtext('waybill-channels:' || current_schema()), :org::integer) AS locked;

-- name: count_channels
-- Counts living channels. Runs after lock_numbers.
-- takes: org
-- returns: count number
SELECT count(*) AS count FROM channels WHERE org_id = :org AND deleted_at IS NULL;

-- name: count_rules
-- Counts living alert rules. Runs after lock_numbers.
-- takes: org
-- returns: count number
SELECT count(*) AS count FROM alert_rules WHERE org_id = :org AND deleted_at IS NULL;

-- name: add_rule
-- Stores an alert rule.
-- takes: org, name, status
-- returns: rule_id text
INSERT INTO alert_rules (org_id, name, status) VALUES (:org, :name, :status) RETURNING rule_id;

-- name: list_rules
-- Lists living alert rules, the newest first.
-- The page begins behind the rule :after_rule, made at :after_created (microseconds); null: with the first.
-- takes: org, after_created, after_rule, most
-- returns: rule_id text, name text, status text, created time, updated time
SELECT rule_id, name, status, micros(created_at) AS created, micros(updated_at) AS updated FROM alert_rules
WHERE org_id = :org AND deleted_at IS NULL 
  AND (:after_created::bigint IS NULL OR (created_at, rule_id) < (at_micros(:after_created), :after_rule::uuid))
ORDER BY created_at DESC, rule_id DESC LIMIT :most::integer;

-- name: find_rule
-- Reads a living alert rule as list_rules does.
-- takes: org, rule
-- returns: rule_id text, name text, status text, created time, updated time
SELECT rule_id, name, status, micros(created_at) AS created, micros(updated_at) AS updated FROM alert_rules
WHERE org_id = :org AND rule_id = :rule::uuid AND deleted_at IS NULL;

-- name: delete_rule
-- Deletes a living alert rule with its bindings. It stays as deleted while there are events of it; earlier ones without events go now.
-- Answers one row if there was one.
-- takes: org, rule
-- returns: rule_id text
WITH gone AS (
  UPDATE alert_rules SET deleted_at = now(), status = 'disabled', updated_at = now()
  WHERE org_id = :org AND rule_id = :rule::uuid AND deleted_at IS NULL RETURNING rule_id),
unbound AS (DELETE FROM rule_channels b USING gone g WHERE b.org_id = :org AND b.rule_id = g.rule_id),
swept AS (
  DELETE FROM alert_rules r WHERE r.org_id = :org AND r.deleted_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM alert_events e WHERE e.org_id = :org AND e.rule_id = r.rule_id))
SELECT rule_id FROM gone;

-- name: change_rule
-- Changes a living alert rule; null keeps what is there.
-- takes: org, rule, name, status
-- returns: rule_id text
UPDATE alert_rules SET name = coalesce(:name, name), status = coalesce(:status, status), updated_at = now()
WHERE org_id = :org AND rule_id = :rule::uuid AND deleted_at IS NULL RETURNING rule_id;

-- name: bound_channels
-- Lists the living channels that a rule is bound to, in the order of their names.
-- The page begins behind the name :after; null: with the first.
-- takes: org, rule, after, most
-- returns: channel_id text, name text, type text, config text, created time, updated time, has_secondary flag, disabled time?
-- returns: disabled_reason text
SELECT c.channel_id,
       c.name,
       c.type,
       c.config,
       micros(c.created_at) AS created,
       micros(c.updated_at) AS updated,
       c.secondary_secret IS NOT NULL AS has_secondary,
       micros(c.disabled_at) AS disabled,
       coalesce(c.disabled_reason, '') AS disabled_reason
FROM rule_channels b JOIN channels c USING (org_id, channel_id)
WHERE b.org_id = :org AND b.rule_id = :rule::uuid AND c.deleted_at IS NULL AND (:after::text IS NULL OR c.name > :after)
ORDER BY c.name LIMIT :most::integer;

-- name: bind_channel
-- Binds a living channel to a rule. Answers whether both are there. The channel's row is locked, so that it is not deleted
-- meanwhile.
-- takes: org, rule, channel
-- returns: is_there flag
WITH there AS (
  SELECT r.rule_id, c.channel_id FROM alert_rules r, channels c
  WHERE r.org_id = :org AND r.rule_id = :rule::uuid AND r.deleted_at IS NULL
    AND c.org_id = :org AND c.channel_id = :channel::uuid AND c.deleted_at IS NULL
  FOR SHARE OF c),
bound AS (INSERT INTO rule_channels (org_id, rule_id, channel_id) SELECT :org, rule_id, channel_id FROM there ON CONFLICT DO NOTHING)
SELECT EXISTS (SELECT FROM there) AS is_there;

-- name: unbind_channel
-- Ends a binding. Answers one row if there was one.
-- takes: org, rule, channel
-- returns: channel_id text
DELETE FROM rule_channels WHERE org_id = :org AND rule_id = :rule::uuid AND channel_id = :channel::uuid RETURNING channel_id;

-- name: add_event
-- Stores an event of a rule, if the rule is there and the event is new.
-- Of an event that is :suppressed nothing is delivered.
-- takes: org, rule, event_id, snapshot, suppressed, trace
-- returns: event_no number
INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, suppressed, trace)
SELECT :org, rule_id, :event_id, :snapshot, :suppressed::boolean, :trace FROM alert_rules
WHERE org_id = :org AND rule_id = :rule::uuid AND deleted_at IS NULL
ON CONFLICT (org_id, rule_id, event_id) DO NOTHING RETURNING event_no;

-- name: is_same_event
-- Compares a known event of a rule with one that is handed in under its id.
-- takes: org, rule, event_id, snapshot, suppressed
-- returns: is_same flag
SELECT snapshot = :snapshot AND suppressed = :suppressed::boolean AS is_same FROM alert_events
WHERE org_id = :org AND rule_id = :rule::uuid AND event_id = :event_id;

-- name: fan_out_event
-- Fans an event out to the channels of its rule. Answers to how many.
-- A notification waits :debounce milliseconds for further events, :max_wait in all, and has :max_bytes at most.
-- takes: org, event, debounce, max_bytes, max_wait
-- returns: channels number
SELECT fan_out(:org, :event, :debounce::bigint * interval '1 millisecond', :max_bytes::integer,
               :max_wait::bigint * interval '1 millisecond') AS channels;

-- name: events_left
-- Lists events that nobody has fanned out, of several organisations: of each the first ones, in the order of their numbers. An event from
-- the far future is as good as old. One row with nulls for an organisation that has none that is old enough.
-- :min_age is in milliseconds. The page has :max_orgs organisations behind the organisation :behind, and :max_events of each.
-- :refused_orgs have events that could not be fanned out: there it goes on behind the event in :refused_events.
-- takes: min_age, behind, max_orgs, max_events, refused_orgs, refused_events
-- returns: org_id number, event_no number?
WITH RECURSIVE turn AS (
  (SELECT org_id FROM alert_events WHERE fanned_out_at IS NULL AND org_id > :behind ORDER BY org_id LIMIT 1)
  UNION ALL
  SELECT next.org_id FROM turn, LATERAL (
    SELECT org_id FROM alert_events WHERE fanned_out_at IS NULL AND org_id > turn.org_id ORDER BY org_id LIMIT 1) next)
SELECT t.org_id, e.event_no
FROM (SELECT turn.org_id, coalesce(t.behind, 0) AS behind
      FROM (SELECT org_id FROM turn LIMIT :max_orgs::integer) turn
      LEFT JOIN unnest(:refused_orgs::integer[], :refused_events::bigint[]) AS t(org_id, behind) USING (org_id)) t
LEFT JOIN LATERAL (
  SELECT event_no FROM alert_events
  WHERE org_id = t.org_id AND fanned_out_at IS NULL AND event_no > t.behind
    AND (created_at <= now() - :min_age::bigint * interval '1 millisecond' OR created_at > now() + interval '1 hour')
  ORDER BY event_no LIMIT :max_events::integer) e ON true
ORDER BY t.org_id, e.event_no;

-- name: adopt_events
-- Fans out these events. Answers those that could not be, with the reason.
-- :debounce, :max_bytes and :max_wait as for fan_out_event.
-- takes: org, events, debounce, max_bytes, max_wait
-- returns: refused number, why text
SELECT refused, why
FROM adopt_events(:org, :events::bigint[], :debounce::bigint * interval '1 millisecond', :max_bytes::integer,
                  :max_wait::bigint * interval '1 millisecond');

-- name: channel_route
-- Reads where the deliveries of a channel wait, also of a deleted one.
-- takes: org, channel
-- returns: shard number, route_id number
SELECT shard, route_id FROM channels WHERE org_id = :org AND channel_id = :channel::uuid;

-- name: end_channel_cooldown
-- Ends the outage of a channel, because somebody has mended it or asks to try it now.
-- takes: org, channel
DELETE FROM target_outages
WHERE org_id = :org AND target = (SELECT 'channel:' || channel_id FROM channels WHERE org_id = :org AND channel_id = :channel::uuid);

-- name: end_notification_cooldown
-- Ends the outage of the channel of a notification.
-- takes: shard, id, org
DELETE FROM target_outages
WHERE org_id = :org
  AND target = (SELECT 'channel:' || channel_id FROM notifications WHERE shard = :shard AND delivery_id = :id AND org_id = :org);

-- name: make_channel_due
-- Makes due what waits for a channel for later, the oldest first. None becomes due later than it would be. Answers for each whether it is
-- one that was never attempted, of a notification made in the window.
-- Of :most rows at most, one every :apart microseconds. The window is from :since to :until (microseconds).
-- takes: shard, route, most, apart, since, until
-- returns: is_unattempted flag
WITH waits AS MATERIALIZED (
  SELECT place, row_number() OVER (ORDER BY delivery_id) AS turn
  FROM (SELECT ctid AS place, delivery_id FROM ready
        WHERE shard = :shard AND route_id = :route AND queued AND status = 'due' AND due_at > now()
        ORDER BY due_at, delivery_id LIMIT :most::integer FOR UPDATE SKIP LOCKED) locked)
UPDATE ready r SET due_at = least(r.due_at, now() + (w.turn - 1) * :apart::bigint * interval '1 microsecond')
FROM waits w
WHERE r.shard = :shard AND r.ctid = w.place
RETURNING r.attempt_count = 0 AND EXISTS (SELECT FROM notifications n WHERE n.shard = :shard AND n.delivery_id = r.delivery_id
                                            AND n.created_at >= at_micros(:since) AND n.created_at < at_micros(:until)) AS is_unattempted;

-- name: unattempted_notifications
-- Counts what waits for a channel for later and was never attempted, of notifications made in a window.
-- Counts :most rows at most. The window is from :since to :until (microseconds).
-- takes: shard, route, most, since, until
-- returns: count number
SELECT count(*) AS count
FROM (SELECT FROM ready r JOIN notifications n ON n.shard = :shard AND n.delivery_id = r.delivery_id
      WHERE r.shard = :shard AND r.route_id = :route AND r.queued AND r.status = 'due' AND r.due_at > now() AND r.attempt_count = 0
        AND n.created_at >= at_micros(:since) AND n.created_at < at_micros(:until)
      LIMIT :most::integer) counted;

-- name: list_notifications
-- Reads a page of notifications, the newest first. It walks an index, and no further than :max_walked rows; the row where the walk
-- stopped for that is answered as well, marked as such.
-- The page begins behind the notification :after_id, made at :after_created (microseconds). Null allows any :rule and any :status.
-- takes: org, rule, status, after_created, after_id, most, max_walked
-- returns: {{notification}}, fits flag?, is_where_the_walk_stopped flag
SELECT {{notification}}, f.fits, w.place = :max_walked::bigint AS is_where_the_walk_stopped
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = :org AND (created_at, delivery_id) < (at_micros(:after_created), :after_id::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT :max_walked::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT (:rule::uuid IS NULL OR n.rule_id = :rule) AND (:status::text IS NULL OR n.status = :status) AS fits) f
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT :most::bigint;

-- name: list_notifications_of_rule
-- The same for one rule, by an index of its own: :rule is not null.
-- takes: org, rule, status, after_created, after_id, most, max_walked
-- returns: {{notification}}, fits flag?, is_where_the_walk_stopped flag
SELECT {{notification}}, f.fits, w.place = :max_walked::bigint AS is_where_the_walk_stopped
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = :org AND rule_id = :rule::uuid AND (created_at, delivery_id) < (at_micros(:after_created), :after_id::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT :max_walked::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT (:rule::uuid IS NULL OR n.rule_id = :rule) AND (:status::text IS NULL OR n.status = :status) AS fits) f
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT :most::bigint;

-- name: list_notifications_of_channel
-- The same for one channel.
-- takes: org, rule, status, after_created, after_id, most, max_walked, channel
-- returns: {{notification}}, fits flag?, is_where_the_walk_stopped flag
SELECT {{notification}}, f.fits, w.place = :max_walked::bigint AS is_where_the_walk_stopped
FROM (
  SELECT shard, delivery_id, created_at, row_number() OVER (ORDER BY created_at DESC, delivery_id DESC) AS place FROM notifications
  WHERE org_id = :org AND channel_id = :channel::uuid AND (created_at, delivery_id) < (at_micros(:after_created), :after_id::bigint)
  ORDER BY created_at DESC, delivery_id DESC LIMIT :max_walked::bigint) w
JOIN notification_states n ON n.shard = w.shard AND n.delivery_id = w.delivery_id
CROSS JOIN LATERAL (SELECT (:rule::uuid IS NULL OR n.rule_id = :rule) AND (:status::text IS NULL OR n.status = :status) AS fits) f
WHERE f.fits OR w.place = :max_walked::bigint
ORDER BY w.created_at DESC, w.delivery_id DESC LIMIT :most::bigint;

-- name: find_notification
-- Reads one notification as list_notifications does, with its body.
-- takes: shard, id, org
-- returns: {{notification}}, payload text?
SELECT {{notification}},
       coalesce((SELECT '[' || string_agg(e.snapshot, ',' ORDER BY e.event_no) || ']'
                 FROM notification_events m JOIN alert_events e USING (org_id, event_no)
                 WHERE m.shard = n.shard AND m.delivery_id = n.delivery_id),
                (SELECT convert_from(s.body, 'UTF8') FROM submissions s WHERE s.shard = n.shard AND s.id = n.delivery_id)) AS payload
FROM notification_states n
WHERE n.shard = :shard AND n.delivery_id = :id AND n.org_id = :org;

-- name: notification_attempts
-- Reads the attempts of a notification and of its replays, in order of time.
-- takes: shard, id
-- returns: {{attempt}}, answer text
SELECT {{attempt}},
       coalesce(a.answer::text, '') AS answer
FROM attempts a
WHERE a.shard = :shard AND a.delivery_id = ANY (ARRAY(
  SELECT :id::bigint
  UNION ALL SELECT id FROM deliveries d JOIN notifications n ON n.shard = d.shard AND n.org_id = d.org_id AND n.delivery_id = d.submission_id
            WHERE n.shard = :shard AND n.delivery_id = :id AND d.id <> d.submission_id
  UNION ALL SELECT latest FROM notifications n WHERE n.shard = :shard AND n.delivery_id = :id AND latest <> :id))
ORDER BY a.started_at, a.number;

-- name: lock_notification
-- Locks a notification and reads whether its latest delivery has ended, and whether its channel still takes deliveries.
-- takes: shard, id, org
-- returns: has_ended flag, is_living flag, is_enabled flag
SELECT EXISTS (SELECT FROM deliveries d WHERE d.shard = n.shard AND d.id = n.latest) AS has_ended,
       c.deleted_at IS NULL AS is_living,
       c.disabled_at IS NULL AS is_enabled
FROM notifications n JOIN channels c USING (org_id, channel_id) JOIN submissions s ON s.shard = n.shard AND s.id = n.delivery_id
WHERE n.shard = :shard AND n.delivery_id = :id AND n.org_id = :org FOR UPDATE OF n FOR SHARE OF s;

-- name: lock_replays
-- Locks an organisation's replays until the transaction ends, so that two requests do not take the same permit.
-- takes: org
-- returns: locked text
SELECT pg_advisory_xact_lock(hashtext('waybill-replays:' || current_schema()), :org::integer) AS locked;

-- name: replay_permit
-- Takes one of the replays that an organisation has in an hour; no row when they are used up. Runs after lock_replays.
-- takes: org, notification, most
-- returns: one number
WITH old AS (DELETE FROM notification_replays WHERE org_id = :org AND replayed_at <= now() - interval '1 hour')
INSERT INTO notification_replays (org_id, replayed_at, notification)
SELECT :org::integer, now(), :notification::bigint
WHERE (SELECT count(*) FROM notification_replays WHERE org_id = :org AND replayed_at > now() - interval '1 hour') < :most::bigint
RETURNING 1 AS one;

-- name: failed_notifications
-- Locks the notifications of a living, enabled channel that failed in a window, the oldest first, and lists them. Those that are
-- being replayed or deleted are left out.
-- The window is from :since to :until (microseconds).
-- takes: org, channel, since, until, most
-- returns: shard number, delivery_id number
SELECT n.shard, n.delivery_id
FROM channels c JOIN notifications n USING (org_id, channel_id)
JOIN deliveries d ON d.shard = n.shard AND d.id = n.latest AND d.status <> 'accepted'
JOIN submissions s ON s.shard = n.shard AND s.id = n.delivery_id
WHERE c.org_id = :org AND c.channel_id = :channel::uuid AND c.deleted_at IS NULL AND c.disabled_at IS NULL
  AND n.created_at >= at_micros(:since) AND n.created_at < at_micros(:until) AND n.rule_id IS NOT NULL
ORDER BY n.created_at, n.delivery_id LIMIT :most::integer FOR UPDATE OF n SKIP LOCKED FOR SHARE OF s SKIP LOCKED;

-- name: replay_notifications
-- Makes each of these notifications, which have ended and are locked, a new delivery with all its attempts before it. The first
-- is due behind so many others, and each other one a while after the one before.
-- :shards and :ids have one element each per notification; :trigger is replay or recover; :apart is in microseconds.
-- takes: shards, ids, org, actor, trigger, apart, others
WITH wanted AS MATERIALIZED (
  SELECT n.shard, n.delivery_id, n.org_id, c.route_id, nextval('object_ids') * 1024 + n.shard AS fresh,
         now() + (t.place - 1 + :others::bigint) * :apart::bigint * interval '1 microsecond' AS due,
         (SELECT coalesce(max(d.replay), 0) + 1 FROM deliveries d
          WHERE d.shard = n.shard AND d.org_id = n.org_id AND d.submission_id = n.delivery_id AND d.id <> d.submission_id AND d.action_order = 1)
           AS replay
  FROM unnest(:shards::smallint[], :ids::bigint[]) WITH ORDINALITY AS t(shard, id, place)
  JOIN notifications n ON n.shard = t.shard AND n.delivery_id = t.id JOIN channels c USING (org_id, channel_id)
  WHERE n.org_id = :org),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, replay, route_id, due_at, status, maybe_sent)
  SELECT shard, fresh, org_id, delivery_id, 1, replay, route_id, due, 'due', true FROM wanted),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
  SELECT shard, delivery_id, clock_timestamp(), org_id, fresh, 'notification_replayed', :trigger, :actor, 'admin',
         jsonb_build_object('replay', replay)
  FROM wanted)
UPDATE notifications n SET latest = w.fresh FROM wanted w WHERE n.shard = w.shard AND n.delivery_id = w.delivery_id;

-- name: test_channel
-- Stores a test event for a living, enabled channel, due now and with one attempt. Answers its id; no row without the channel.
-- :route is that of its one attempt.
-- takes: org, channel, route, body
-- returns: id number
WITH living AS (
  SELECT shard, channel_id, nextval('object_ids') * 1024 + shard AS id FROM channels
  WHERE org_id = :org AND channel_id = :channel::uuid AND deleted_at IS NULL AND disabled_at IS NULL),
stored AS (
  INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
  SELECT shard, id, :org, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || channel_id, 'as_delivery', '', now(),
         convert_to(:body, 'UTF8') FROM living),
noted AS (
  INSERT INTO notifications (shard, delivery_id, org_id, channel_id, created_at, bytes, latest)
  SELECT shard, id, :org, channel_id, now(), octet_length(:body), id FROM living),
queued AS (
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
  SELECT shard, id, :org, id, 1, :route, now(), 'due' FROM living)
SELECT id FROM living;

-- name: record_channel_results
-- Records how attempts of channels ended, and answers the channels that are disabled for it. It waits for no lock longer than a moment.
-- :orgs, :channels and :hows (accepted, failed or gone) have one element each per channel. :patience milliseconds of failures disable
-- one.
-- takes: orgs, channels, hows, patience
-- returns: disabled_channel text, why text
SELECT disabled_channel, why
FROM record_channel_results(:orgs::integer[], :channels::uuid[], :hows::text[], :patience::bigint * interval '1 millisecond');

-- name: old_secondaries
-- Reminds of second secrets that stay for longer than they should, each once a day.
-- :grace is in milliseconds.
-- takes: grace
-- returns: reminded text?
SELECT remind_alert(org_id, 'old_secret', channel_id::text,
                    'the secret before the last rotation of channel ' || name || ' still signs: clear it once receivers have the new one',
                    interval '1 day') AS reminded
FROM channels WHERE secondary_secret IS NOT NULL AND deleted_at IS NULL AND rotated_at <= now() - :grace::bigint * interval '1 millisecond';
