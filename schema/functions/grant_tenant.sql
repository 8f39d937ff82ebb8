-- Makes this role the one that acts for organisations, and gives it what access_rules says of tenants.
CREATE OR REPLACE FUNCTION grant_tenant(tenant text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  problem text := tenant_problem(tenant);
  former  text := (SELECT tenant_role FROM installation);
BEGIN
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION 'waybill: %', problem USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF former <> tenant AND EXISTS (SELECT FROM pg_roles WHERE rolname = former) THEN
    PERFORM take_access(quote_ident(former));
  END IF;
  UPDATE installation SET tenant_role = tenant;
  PERFORM apply_access();
END $function$;
