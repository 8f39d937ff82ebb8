-- Row level security of a table, its owner included. The owner and the application see all rows: their condition is a constant, which is
-- gone before a plan is made, and costs nothing. The sub-select asks for the setting once a statement, not once a row.
CREATE OR REPLACE FUNCTION guard_rows(one regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  is_guarded boolean;
  has_org    boolean := EXISTS (SELECT FROM pg_attribute WHERE attrelid = one AND attname = 'org_id' AND NOT attisdropped);
  owner      name;
BEGIN
  SELECT relrowsecurity AND relforcerowsecurity, pg_get_userbyid(relowner) INTO is_guarded, owner FROM pg_class WHERE oid = one;
  IF NOT is_guarded THEN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', one);
  END IF;
  PERFORM keep_policy(one, 'engine', owner, 'TO %I USING (true) WITH CHECK (true)');
  PERFORM keep_policy(one, 'tenant', i.tenant_role::name,
                      'TO %I USING (org_id = (SELECT tenant_org())) WITH CHECK (org_id = (SELECT tenant_org()))')
  FROM installation i WHERE has_org;
END $function$;
