-- Makes what is missing of this month and `months_ahead` more. A new partition is complete before it is attached, so that attaching locks
-- nothing else but the default partition, briefly: whoever reads that is in the way, is not waited for, and is named in `postponed`.
-- INSERTs go on meanwhile: they lock neither the default partition nor the parent in a way that conflicts.
CREATE OR REPLACE FUNCTION make_partitions_now(months_ahead integer, OUT made integer, OUT postponed text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '200ms'
 SET search_path FROM CURRENT
AS $function$
DECLARE
  parent text;
  fresh  text;
  first  date;
BEGIN
  made := 0;
  -- Several hosts ask at the same hour.
  IF NOT pg_try_advisory_xact_lock(hashtext('waybill-partitions:' || current_schema())) THEN RETURN; END IF;
  FOREACH parent IN ARRAY ARRAY['attempts', 'audit_log'] LOOP
    FOR i IN 0..least(months_ahead, 24) LOOP
      first := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i))::date;
      fresh := format('%I', parent || to_char(first, '_YYYY_MM'));
      CONTINUE WHEN to_regclass(fresh) IS NOT NULL;
      BEGIN
        EXECUTE format('CREATE TABLE %s (LIKE %I INCLUDING ALL EXCLUDING IDENTITY)', fresh, parent);
        PERFORM guard_partition(fresh::regclass);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent, fresh,
                       first::timestamp AT TIME ZONE 'UTC', (first + interval '1 month')::timestamp AT TIME ZONE 'UTC');
        made := made + 1;
      EXCEPTION
        WHEN check_violation THEN NULL;  -- the default partition has rows of that month: it keeps the month
        WHEN lock_not_available THEN
          postponed := concat_ws('; ', postponed, lock_holders(parent));
          EXIT;  -- the months after it would wait for the same
      END;
    END LOOP;
  END LOOP;
  BEGIN
    PERFORM guard_partitions();
  EXCEPTION WHEN lock_not_available THEN
    postponed := concat_ws('; ', postponed, 'a partition that was attached by hand is in use and not guarded yet');
  END;
END $function$;
