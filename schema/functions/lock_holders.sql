-- Who stands in the way of a partition of `parent`, in words.
CREATE OR REPLACE FUNCTION lock_holders(parent text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path FROM CURRENT
AS $function$
  SELECT 'a partition of ' || parent || ' waits for ' || coalesce(string_agg(DISTINCT format('process %s (%s)', l.pid,
    coalesce(nullif(a.application_name, ''), 'unnamed')), ', '), 'a lock that is gone by now')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.granted AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.relation = (SELECT partdefid FROM pg_partitioned_table WHERE partrelid = parent::regclass)
$function$;
