-- Gives these two roles what access_rules says of the application and of readers, takes it from those that had it before, and notes the
-- names. Fails with the words of access_problem() if there are any.
CREATE OR REPLACE FUNCTION grant_access(application text, reader text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  problem text := access_problem(application, reader);
  former  text;
BEGIN
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION 'waybill: %', problem USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR former IN SELECT r.rolname FROM installation i, pg_roles r
                WHERE r.rolname IN (i.application_role, i.reader_role) AND r.rolname NOT IN (application, reader) LOOP
    PERFORM take_access(quote_ident(former));
  END LOOP;
  UPDATE installation SET application_role = application, reader_role = reader;
  PERFORM apply_access();
END $function$;
