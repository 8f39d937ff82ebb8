-- Text that several files of this folder share.

-- part: notification
-- A notification, which read_notification() reads (notify_rows.h). The statement calls its row of notification_states n.
-- returns: delivery_id number, rule_id text, channel_id text, status text, attempt_count number, created time, send_after time?
-- returns: delivered time?
n.delivery_id,
       coalesce(n.rule_id::text, '') AS rule_id,
       n.channel_id,
       n.status,
       n.attempt_count,
       micros(n.created_at) AS created,
       micros(n.send_after) AS send_after,
       micros(n.delivered_at) AS delivered
