-- `grantee` is SQL text: a quoted role, or PUBLIC.
CREATE OR REPLACE FUNCTION take_access(grantee text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  kind text;
  one  regtype;
BEGIN
  FOREACH kind IN ARRAY ARRAY['ALL TABLES IN SCHEMA', 'ALL SEQUENCES IN SCHEMA', 'ALL FUNCTIONS IN SCHEMA', 'SCHEMA'] LOOP
    EXECUTE format('REVOKE ALL ON %s %I FROM %s', kind, current_schema(), grantee);
  END LOOP;
  FOR one IN SELECT oid FROM pg_type
             WHERE typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND typtype IN ('e', 'd') LOOP
    EXECUTE format('REVOKE ALL ON TYPE %s FROM %s', one, grantee);
  END LOOP;
END $function$;
