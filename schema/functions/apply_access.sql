-- Gives every table, partition and function the rights and policies that follow from access_rules and from the roles in `installation`. Safe
-- to call again.
CREATE OR REPLACE FUNCTION apply_access()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  schema oid := (SELECT oid FROM pg_namespace WHERE nspname = current_schema());
  who    record;
  rule   access_rules;
  one    oid;
BEGIN
  FOR one IN SELECT c.oid FROM pg_class c
             WHERE c.relnamespace = schema AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE')
               AND (EXISTS (SELECT FROM access_rules WHERE table_name = c.relname AND seen_with IS NOT NULL)
                    OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'org_id' AND NOT attisdropped)) LOOP
    PERFORM guard_rows(one::regclass);
  END LOOP;
  FOR who IN SELECT r.rolname AS name, w.kind
             FROM installation i,
                  LATERAL (VALUES (i.application_role, 'application'), (i.reader_role, 'reader'), (i.tenant_role, 'tenant')) w(name, kind)
             JOIN pg_roles r ON r.rolname = w.name
             WHERE w.kind <> 'tenant' OR tenant_problem(r.rolname) IS NULL LOOP
    IF who.kind <> 'tenant' THEN  -- which is there also where the schema is everybody's
      PERFORM take_access('PUBLIC');
    END IF;
    PERFORM take_access(quote_ident(who.name));
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), who.name);
    EXECUTE format('GRANT USAGE ON TYPE delivery_status TO %I', who.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION micros(timestamptz), at_micros(bigint) TO %I', who.name);
    IF who.kind = 'application' THEN
      EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', current_schema(), who.name);
      FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = schema AND NOT proname = ANY (ARRAY[
                   'access_problem', 'apply_access', 'grant_access', 'grant_tenant', 'guard_partition', 'guard_partitions', 'guard_rows',
                   'keep_policy', 'lock_holders', 'take_access']) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', one::regprocedure, who.name);
      END LOOP;
    ELSIF who.kind = 'tenant' THEN
      EXECUTE format('GRANT USAGE ON SEQUENCE object_ids TO %I', who.name);
      EXECUTE format('GRANT EXECUTE ON FUNCTION tenant_org(), raise_alert(integer, text, text, text),'
                     ' ends_of_action(delivery_status, jsonb, jsonb) TO %I', who.name);
    END IF;
    FOR rule IN SELECT * FROM access_rules LOOP
      CONTINUE WHEN (CASE who.kind WHEN 'application' THEN rule.application WHEN 'reader' THEN rule.reader ELSE rule.tenant END) IS NULL;
      EXECUTE format('GRANT %s ON TABLE %I TO %I',
                     CASE who.kind WHEN 'application' THEN rule.application WHEN 'reader' THEN rule.reader ELSE rule.tenant END,
                     rule.table_name, who.name);
      CONTINUE WHEN who.kind = 'tenant' OR NOT (SELECT relrowsecurity FROM pg_class WHERE oid = rule.table_name::regclass);
      IF who.kind = 'application' THEN
        PERFORM keep_policy(rule.table_name::regclass, 'application', who.name, 'TO %I USING (true) WITH CHECK (true)');
      ELSE
        -- The tables in these conditions are under the reader's policies themselves: what belongs to a row that it does not see, it
        -- does not see either. Submission 0: the audit of what is not about a submission, such as loading forms.
        PERFORM keep_policy(rule.table_name::regclass, 'reader', who.name, 'FOR SELECT TO %I USING ('
          || replace(CASE rule.seen_with
            WHEN 'itself' THEN 'state <> ''purged'''
            WHEN 'submission' THEN 'submission_id = 0'
              ' OR EXISTS (SELECT FROM submissions s WHERE s.shard = THIS.shard AND s.id = THIS.submission_id)'
            WHEN 'delivery' THEN 'EXISTS (SELECT FROM deliveries d WHERE d.shard = THIS.shard AND d.id = THIS.delivery_id)'
              ' OR EXISTS (SELECT FROM ready r WHERE r.shard = THIS.shard AND r.delivery_id = THIS.delivery_id)'
            ELSE 'true' END, 'THIS', quote_ident(rule.table_name)) || ')');
      END IF;
    END LOOP;
  END LOOP;
END $function$;
