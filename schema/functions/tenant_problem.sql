-- What stands against this role for tenants, in words; null if nothing does. A role that does not exist yet is no problem.
CREATE OR REPLACE FUNCTION tenant_problem(tenant text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path FROM CURRENT
AS $function$
DECLARE
  owner oid := (SELECT relowner FROM pg_class WHERE oid = 'installation'::regclass);
  role  pg_roles;
BEGIN
  SELECT * INTO role FROM pg_roles WHERE rolname = tenant;
  IF role.rolsuper OR role.rolbypassrls THEN
    RETURN format('role %I is a superuser or has BYPASSRLS: it would see every organisation', tenant);
  END IF;
  IF pg_has_role(role.oid, owner, 'MEMBER') THEN
    RETURN format('role %I is the owner of the tables (%I) or a member of it: it would see every organisation', tenant,
                  pg_get_userbyid(owner));
  END IF;
  IF EXISTS (SELECT FROM installation i, pg_roles r WHERE r.rolname IN (i.application_role, i.reader_role)
             AND (r.rolname = tenant OR pg_has_role(role.oid, r.oid, 'MEMBER'))) THEN
    RETURN format('role %I is the application''s or the reader''s, or a member of it: it would see every organisation', tenant);
  END IF;
  IF EXISTS (SELECT FROM installation i, pg_roles r WHERE r.rolname = i.reader_role AND pg_has_role(r.oid, role.oid, 'MEMBER')) THEN
    RETURN format('the reader is a member of role %I: it would see what was purged', tenant);
  END IF;
  RETURN NULL;
END $function$;
