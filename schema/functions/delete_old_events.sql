-- Deletes up to `rows` events of alert rules that are older than `age`, were fanned out, and are in no notification. Answers how many.
CREATE OR REPLACE FUNCTION delete_old_events(age interval, rows integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path FROM CURRENT
AS $function$
  WITH gone AS (
    DELETE FROM alert_events WHERE event_no = ANY (ARRAY(
      SELECT event_no FROM alert_events e
      WHERE created_at < now() - age AND fanned_out_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM notification_events n WHERE n.event_no = e.event_no)
      ORDER BY created_at LIMIT rows)) RETURNING 1)
  SELECT count(*) FROM gone
$function$;
