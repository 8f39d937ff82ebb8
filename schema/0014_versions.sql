-- Runs beside: none
-- Versions side by side: a host says which schema it knows. And a month's partitions come without a lock that anybody waits for.
-- `waybill migrate` runs this file early as well, while hosts of before may still register: it must bear being run twice.

-- ---- versions ----

ALTER TABLE hosts ADD COLUMN IF NOT EXISTS knows integer;  -- the schema version of its program; null: version 9 or older

-- A program that may not use the schema cannot become a host. The migration that changes that holds a lock on `hosts`, so that each
-- registration is either seen by it or sees it.
CREATE OR REPLACE FUNCTION check_host_version() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  needed integer := (SELECT coalesce(max(coalesce(runs_beside, version)), 0) FROM schema_migrations);
BEGIN
  IF coalesce(NEW.knows, 9) < needed THEN
    RAISE EXCEPTION 'waybill: host % knows schema version %, this schema needs programs of version % or newer', NEW.name,
      coalesce(NEW.knows::text, '9 or older'), needed USING ERRCODE = 'check_violation', HINT = 'run a newer waybill';
  END IF;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER hosts_version BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION check_host_version();

-- ---- partitions ----

-- Makes what is missing of this month and `months_ahead` more. A new partition is complete before it is attached, so that attaching locks
-- nothing else but the default partition, briefly: whoever reads that is in the way, is not waited for, and is named in `postponed`.
-- INSERTs go on meanwhile: they lock neither the default partition nor the parent in a way that conflicts.
CREATE OR REPLACE FUNCTION make_partitions_now(months_ahead integer, OUT made integer, OUT postponed text)
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '200ms' AS $$
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
END $$;
CREATE OR REPLACE FUNCTION make_partitions(months_ahead integer) RETURNS integer LANGUAGE sql SECURITY DEFINER
  AS $$ SELECT made FROM make_partitions_now(months_ahead) $$;

-- Who stands in the way of a partition of `parent`, in words.
CREATE OR REPLACE FUNCTION lock_holders(parent text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'a partition of ' || parent || ' waits for ' || coalesce(string_agg(DISTINCT format('process %s (%s)', l.pid,
    coalesce(nullif(a.application_name, ''), 'unnamed')), ', '), 'a lock that is gone by now')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.granted AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.relation = (SELECT partdefid FROM pg_partitioned_table WHERE partrelid = parent::regclass)
$$;

CREATE OR REPLACE FUNCTION guard_partition(one regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                 ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
  EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
  -- No policy: whoever is not the owner sees a partition through its parent only, where the parent's policies hold.
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', one);
END $$;
-- Of partitions that were attached by hand.
CREATE OR REPLACE FUNCTION guard_partitions() RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

DO $$
DECLARE
  one  text;
  rule text;
  old  text := '''access_problem'', ''apply_access''';
BEGIN
  FOREACH one IN ARRAY ARRAY['check_host_version()', 'make_partitions_now(integer)', 'make_partitions(integer)', 'lock_holders(text)',
                             'guard_partition(regclass)', 'guard_partitions()'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', one);
  END LOOP;
  -- The application role has partitions made; it guards none by itself.
  rule := pg_get_functiondef('apply_access()'::regprocedure);
  IF strpos(rule, '''guard_partition'',') = 0 THEN
    ASSERT strpos(rule, old) > 0;
    EXECUTE replace(rule, old, old || ', ''guard_partition'', ''lock_holders''');
  END IF;
END $$;
