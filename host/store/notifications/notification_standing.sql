-- Where a notification stands. Used by notification_standing.cpp.

-- name: own_notification
-- Finds a notification of the organisation.
-- $1 shard, $2 id, $3 organisation
SELECT delivery_id FROM notifications WHERE shard = $1 AND delivery_id = $2 AND org_id = $3;

-- name: notification_standing
-- Reads a notification as list_notifications does, its end, its channel and what that waits for, its place in the queue, how many
-- deliveries to the organisation's channels and to this one are under way, which host serves them and how long it has not renewed its
-- place, and how many hosts live (see rescue.sql).
-- $1 shard, $2 id, $3 organisation
SELECT n.delivery_id, coalesce(n.rule_id::text, ''), n.channel_id, n.status, n.attempt_count, micros(n.created_at), micros(n.send_after),
       micros(n.delivered_at),
       micros(now()), coalesce(d.reason, ''), coalesce(c.type, ''), micros(c.deleted_at), micros(c.disabled_at), coalesce(c.disabled_reason, ''),
       coalesce(k.master, ''), micros(t.until), coalesce(t.reason, ''), micros(t.since),
       coalesce(r.status = 'open', false), coalesce(r.lease_lost, 0), coalesce(h.name, ''), coalesce(r.claimed_by = ANY (living.ids), false),
       micros(r.claimed_at), micros(r.lease_until),
       (SELECT count(*) FROM claimed u JOIN contract_snapshots s ON s.route_id = u.route_id
        WHERE u.org_id = $3 AND s.contract::jsonb ->> 'channel' IS NOT NULL),
       (SELECT count(*) FROM hosts WHERE host_id = ANY (living.ids)),
       (SELECT count(*) FROM claimed u WHERE u.org_id = $3 AND u.route_id = c.route_id),
       coalesce(p.name, ''),
       coalesce(c.config::jsonb ->> 'rate', ''),
       (SELECT micros(p.next_at) FROM target_rates p WHERE p.org_id = n.org_id AND p.target = 'channel:' || n.channel_id AND p.next_at > now()),
       micros(p.renewed_at), micros(p.lease_until)
FROM (SELECT ARRAY(SELECT host_id FROM living_hosts) AS ids OFFSET 0) living,
     notification_states n
     JOIN notifications m ON m.shard = n.shard AND m.delivery_id = n.delivery_id
     LEFT JOIN ready r ON r.shard = m.shard AND r.delivery_id = m.latest
     LEFT JOIN deliveries d ON d.shard = m.shard AND d.id = m.latest
     LEFT JOIN channels c ON c.org_id = n.org_id AND c.channel_id = n.channel_id
     LEFT JOIN org_keys k ON k.org_id = c.org_id AND k.key_id = c.key_id
     LEFT JOIN target_rests t ON t.org_id = n.org_id AND t.target = 'channel:' || n.channel_id AND t.until > now()
     LEFT JOIN hosts h ON h.host_id = r.claimed_by
     LEFT JOIN (SELECT s.org_id, x.name, s.renewed_at, s.lease_until FROM channel_hosts s JOIN hosts x USING (host_id)) p ON p.org_id = n.org_id
WHERE n.shard = $1 AND n.delivery_id = $2 AND n.org_id = $3;
