-- The transactions that may have written to `submissions` and have not ended. The lock is taken before the first id, so whoever has an id
-- and is not among these has ended.
CREATE OR REPLACE FUNCTION submission_writers()
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path FROM CURRENT
AS $function$
  SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'submissions'::regclass AND granted AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
$function$;
