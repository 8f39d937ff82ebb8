-- Where a notification stands. Used by notification_standing.cpp.

-- name: own_notification
-- Finds a notification of the organisation.
-- takes: shard, id, org
-- returns: delivery_id number
SELECT delivery_id FROM notifications WHERE shard = :shard AND delivery_id = :id AND org_id = :org;

-- name: notification_standing
-- Reads a notification as list_notifications does, its end, its channel and what that waits for, its place in the queue, how many
-- deliveries to the organisation's channels and to this one are under way, which host serves them and how long it has not renewed its
-- place, and how many hosts live (see rescue.sql).
-- takes: shard, id, org
-- returns: {{notification}}, now time, reason text
-- returns: channel_type text, channel_deleted time?, channel_disabled time?, disabled_reason text, master text
-- returns: cooldown_until time?, cooldown_reason text, cooldown_since time?, paused time?, pause_reason text
-- returns: is_open flag, lease_lost number, claimed_by text, claimer_lives flag, claimed time?, lease_until time?
-- returns: under_way number, hosts number, under_way_of_channel number
-- returns: served_by text, rate text, rate_until time?, serves_since time?, serves_until time?
SELECT {{notification}},
       micros(now()) AS now,
       coalesce(d.reason, '') AS reason,
       coalesce(c.type, '') AS channel_type,
       micros(c.deleted_at) AS channel_deleted,
       micros(c.disabled_at) AS channel_disabled,
       coalesce(c.disabled_reason, '') AS disabled_reason,
       coalesce(k.master, '') AS master,
       micros(t.until) AS cooldown_until,
       coalesce(t.reason, '') AS cooldown_reason,
       micros(t.since) AS cooldown_since,
       micros(a.since) AS paused,
       coalesce(a.reason, '') AS pause_reason,
       coalesce(r.status = 'open', false) AS is_open,
       coalesce(r.lease_lost, 0) AS lease_lost,
       coalesce(h.name, '') AS claimed_by,
       coalesce(r.claimed_by = ANY (living.ids), false) AS claimer_lives,
       micros(r.claimed_at) AS claimed,
       micros(r.lease_until) AS lease_until,
       (SELECT count(*) FROM claimed u JOIN contract_snapshots s ON s.route_id = u.route_id
        WHERE u.org_id = :org AND s.contract::jsonb ->> 'channel' IS NOT NULL) AS under_way,
       (SELECT count(*) FROM hosts WHERE host_id = ANY (living.ids) AND name NOT LIKE '%/quarantine') AS hosts,
       (SELECT count(*) FROM claimed u WHERE u.org_id = :org AND u.route_id = c.route_id) AS under_way_of_channel,
       coalesce(p.name, '') AS served_by,
       coalesce(c.config::jsonb ->> 'rate', '') AS rate,
       (SELECT micros(p.next_at) FROM target_rates p
        WHERE p.org_id = n.org_id AND p.target = 'channel:' || n.channel_id AND p.next_at > now()) AS rate_until,
       micros(p.renewed_at) AS serves_since,
       micros(p.lease_until) AS serves_until
FROM (SELECT ARRAY(SELECT host_id FROM living_hosts) AS ids OFFSET 0) living,
     notification_states n
     JOIN notifications m ON m.shard = n.shard AND m.delivery_id = n.delivery_id
     LEFT JOIN ready r ON r.shard = m.shard AND r.delivery_id = m.latest
     LEFT JOIN deliveries d ON d.shard = m.shard AND d.id = m.latest
     LEFT JOIN channels c ON c.org_id = n.org_id AND c.channel_id = n.channel_id
     LEFT JOIN org_keys k ON k.org_id = c.org_id AND k.key_id = c.key_id
     LEFT JOIN target_outages t ON t.org_id = n.org_id AND t.target = 'channel:' || n.channel_id AND t.until > now()
     LEFT JOIN target_pauses a ON a.org_id = n.org_id AND a.target = 'channel:' || n.channel_id
     LEFT JOIN hosts h ON h.host_id = r.claimed_by
     LEFT JOIN (SELECT s.org_id, x.name, s.renewed_at, s.lease_until FROM channel_hosts s JOIN hosts x USING (host_id)) p ON p.org_id = n.org_id
WHERE n.shard = :shard AND n.delivery_id = :id AND n.org_id = :org;
