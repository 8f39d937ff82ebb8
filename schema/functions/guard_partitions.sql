-- Guards partitions that were attached by hand.
CREATE OR REPLACE FUNCTION guard_partitions()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  one regclass;
BEGIN
  FOR one IN
    SELECT i.inhrelid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('attempts'::regclass, 'audit_log'::regclass)
      AND pg_has_role(c.relowner, 'USAGE')  -- another's table is its owner's affair
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = i.inhrelid AND t.tgname = 'append_only')
  LOOP
    PERFORM guard_partition(one);
  END LOOP;
END $function$;
