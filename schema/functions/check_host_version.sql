-- A program that may not use the schema cannot become a host. The migration that changes that holds a lock on `hosts`, so that each
-- registration is either seen by it or sees it.
CREATE OR REPLACE FUNCTION check_host_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  needed integer := (SELECT coalesce(max(coalesce(runs_beside, version)), 0) FROM schema_migrations);
BEGIN
  IF coalesce(NEW.knows, 9) < needed THEN
    RAISE EXCEPTION 'waybill: host % knows schema version %, this schema needs programs of version % or newer', NEW.name,
      coalesce(NEW.knows::text, '9 or older'), needed USING ERRCODE = 'check_violation', HINT = 'run a newer waybill';
  END IF;
  RETURN NEW;
END $function$;
