-- Fans out these events of one organisation, and answers those that could not be, with the reason. Windows are locked in one order,
-- whoever else does the same: by rule and channel. The first lock that is held makes the other events of its rule wait for another time.
CREATE OR REPLACE FUNCTION adopt_events(org integer, events bigint[], debounce interval, max_bytes integer, max_wait interval)
 RETURNS TABLE(refused bigint, why text)
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
 SET lock_timeout TO '100ms'
AS $function$
DECLARE
  one  record;
  held uuid;
BEGIN
  FOR one IN SELECT e.event_no, e.rule_id FROM alert_events e
             WHERE e.org_id = org AND e.event_no = ANY (events) AND e.fanned_out_at IS NULL ORDER BY e.rule_id, e.event_no LOOP
    CONTINUE WHEN one.rule_id = held;
    BEGIN
      PERFORM fan_out(org, one.event_no, debounce, max_bytes, max_wait);
    EXCEPTION
      WHEN lock_not_available THEN
        held := one.rule_id;
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
      WHEN OTHERS THEN
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
    END;
  END LOOP;
END $function$;
