-- The body of a notification: the JSON array of its events' snapshots, in the order in which they came.
CREATE OR REPLACE FUNCTION notification_body(of_shard smallint, of_delivery bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path FROM CURRENT
AS $function$
  SELECT '[' || string_agg(e.snapshot, ',' ORDER BY e.event_no) || ']'
  FROM notification_events n JOIN alert_events e ON e.event_no = n.event_no
  WHERE n.shard = of_shard AND n.delivery_id = of_delivery
$function$;
