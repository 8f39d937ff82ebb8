-- Of a condition that lasts: counted once in `apart`, however often and by however many hosts it is seen.
CREATE OR REPLACE FUNCTION remind_alert(org integer, what text, about text, words text, apart interval)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
  WHERE alerts.last_at <= now() - apart
$function$;
