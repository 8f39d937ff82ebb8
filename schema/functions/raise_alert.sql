-- Counts an alert: the first one begins the incident `what:about`, later ones renew its words.
CREATE OR REPLACE FUNCTION raise_alert(org integer, what text, about text, words text)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
$function$;
