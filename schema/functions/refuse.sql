-- What the program's own tables forbid, the database forbids as well. One thing may delete what is append-only: the erasure of a disabled
-- organisation (erase_rows), by the tables' owner, and that organisation's rows alone.
CREATE OR REPLACE FUNCTION refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  erased    text := current_setting('waybill.erased_org', true);
  may_erase boolean;
BEGIN
  IF TG_OP = 'DELETE' AND erased ~ '^[0-9]{1,9}$' THEN
    IF TG_LEVEL = 'ROW' AND OLD.org_id = erased::integer THEN
      RETURN OLD;
    ELSIF TG_LEVEL = 'STATEMENT' THEN
      EXECUTE format('SELECT pg_has_role(current_user, c.relowner, ''USAGE'')'
                     ' AND EXISTS (SELECT FROM %I.organisations WHERE org_id = $1 AND disabled_at IS NOT NULL)'
                     ' FROM pg_catalog.pg_class c WHERE c.oid = $2', TG_TABLE_SCHEMA) INTO may_erase USING erased::integer, TG_RELID;
      IF may_erase THEN
        RETURN NULL;
      END IF;
    END IF;
  END IF;
  RAISE EXCEPTION 'waybill: % on % is not allowed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation', HINT = TG_ARGV[0];
END $function$;
