-- What each partition of an append-only table needs of its own: the trigger that refuses changes, and row level security.
CREATE OR REPLACE FUNCTION guard_partition(one regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                 ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
  EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
  -- Others than the owner read a partition through its parent only, where the parent's policies hold.
  PERFORM guard_rows(one);
END $function$;
