-- What stands against these two roles, in words; null if nothing does. A role that does not exist yet is no problem.
CREATE OR REPLACE FUNCTION access_problem(application text, reader text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path FROM CURRENT
AS $function$
DECLARE
  owner oid := (SELECT relowner FROM pg_class WHERE oid = 'installation'::regclass);
  role  pg_roles;
BEGIN
  IF current_schema() = 'public' THEN
    RETURN 'the schema public is everybody''s: roles need a schema of Waybill''s own (database.schema)';
  END IF;
  IF application = reader THEN
    RETURN format('the application and the reader must be two roles, not both %I', reader);
  END IF;
  FOR role IN SELECT * FROM pg_roles WHERE rolname IN (application, reader) LOOP
    IF role.rolsuper OR role.rolbypassrls THEN
      RETURN format('role %I is a superuser or has BYPASSRLS: nothing would be kept from it', role.rolname);
    END IF;
    IF pg_has_role(role.oid, owner, 'MEMBER') THEN
      RETURN format('role %I is the owner of the tables (%I) or a member of it: nothing would be kept from it', role.rolname,
                    pg_get_userbyid(owner));
    END IF;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles a, pg_roles r
             WHERE a.rolname = application AND r.rolname = reader AND pg_has_role(r.oid, a.oid, 'MEMBER')) THEN
    RETURN format('role %I is a member of %I: it would not only read', reader, application);
  END IF;
  RETURN NULL;
END $function$;
