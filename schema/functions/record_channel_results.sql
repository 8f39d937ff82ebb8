-- How attempts of channels ended. A channel whose destination is gone is disabled, and so is one that has only failed for long, each with
-- an alert. Answers those. A channel whose state stays what it is is not written, nor one that is locked: a settlement does not wait for
-- it, and a later attempt will say the same.
CREATE OR REPLACE FUNCTION record_channel_results(orgs integer[], channel_ids uuid[], hows text[], patience interval)
 RETURNS TABLE(disabled_channel uuid, why text, alerted boolean)
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
 SET lock_timeout TO '100ms'
AS $function$
BEGIN
  RETURN QUERY
  WITH result AS (
    SELECT t.org_id, t.channel_id, bool_or(t.how = 'gone') AS gone, bool_or(t.how = 'accepted') AS accepted
    FROM unnest(orgs, channel_ids, hows) AS t(org_id, channel_id, how) GROUP BY 1, 2 ORDER BY 1, 2),
  seen AS (
    SELECT c.org_id, c.channel_id, c.name, n.gone, n.accepted, c.failing_since,
           n.gone OR NOT n.accepted AND c.failing_since <= now() - patience AS hopeless
    FROM result n JOIN channels c USING (org_id, channel_id)
    WHERE c.deleted_at IS NULL AND c.disabled_at IS NULL
      AND (n.gone OR CASE WHEN n.accepted THEN c.failing_since IS NOT NULL
                          ELSE c.failing_since IS NULL OR c.failing_since <= now() - patience END)
    FOR NO KEY UPDATE OF c SKIP LOCKED),
  noted AS (
    UPDATE channels c SET failing_since = CASE WHEN s.accepted AND NOT s.gone THEN NULL ELSE coalesce(c.failing_since, now()) END,
           disabled_at = CASE WHEN s.hopeless THEN now() END,
           disabled_reason = CASE WHEN s.gone THEN 'its destination answered that it is gone'
                                  WHEN s.hopeless THEN 'every attempt has failed for too long' END
    FROM seen s WHERE c.org_id = s.org_id AND c.channel_id = s.channel_id
    RETURNING c.org_id, c.channel_id, c.name, c.disabled_reason)
  SELECT n.channel_id, n.disabled_reason,
         raise_alert(n.org_id, 'channel_disabled', n.channel_id::text, 'channel ' || n.name || ' was disabled: ' || n.disabled_reason) IS NOT NULL
  FROM noted n WHERE n.disabled_reason IS NOT NULL;
END $function$;
