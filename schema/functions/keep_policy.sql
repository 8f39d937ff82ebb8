-- Gives the table this policy unless it has it. A role that does not exist needs none.
CREATE OR REPLACE FUNCTION keep_policy(one regclass, policy name, grantee name, condition text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  role oid := (SELECT oid FROM pg_roles WHERE rolname = grantee);
BEGIN
  IF role IS NULL OR EXISTS (SELECT FROM pg_policy WHERE polrelid = one AND polname = policy AND polroles = ARRAY[role]) THEN
    RETURN;
  END IF;
  EXECUTE format('DROP POLICY IF EXISTS %I ON %s', policy, one);
  EXECUTE format('CREATE POLICY %I ON %s %s', policy, one, format(condition, grantee));
END $function$;
