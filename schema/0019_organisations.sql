-- Runs beside: 18
--
-- Several organisations share one installation. What the API does for one of them runs as the tenant role, for which row level security
-- shows and takes the rows of one organisation only: that of the setting waybill.org, which a transaction sets for itself. The engine
-- (claims, settlements, maintenance) works for all organisations, as the tables' owner or the application role.
--
-- A host of version 18 does not know disabled organisations: it goes on accepting their tokens until it is replaced.
--
-- Locks: every table with an org_id, one after the other, for as long as it takes to write its policies into the catalogue.

ALTER TABLE organisations ADD COLUMN disabled_at timestamptz;  -- nothing new comes in for it since then
ALTER TABLE installation ADD COLUMN tenant_role text NOT NULL DEFAULT 'waybill_tenant';

-- `tenant`: what the tenant role may do with the table; null: nothing. It needs an org_id, or must say the same to every organisation.
ALTER TABLE access_rules ADD COLUMN tenant text;
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE (disabled_at)' WHERE table_name = 'organisations';
UPDATE access_rules a SET tenant = t.rights FROM (VALUES
  ('action_words',       'SELECT'),
  ('alerts',             'SELECT, INSERT, UPDATE'),
  ('attachments',        'SELECT, INSERT, UPDATE'),
  ('attempts',           'SELECT'),
  ('audit_log',          'SELECT, INSERT'),
  ('contract_snapshots', 'SELECT, INSERT'),
  ('dead_letter_edits',  'SELECT, INSERT'),
  ('dead_letters',       'SELECT, UPDATE'),
  ('deliveries',         'SELECT, INSERT'),
  ('edited_payloads',    'SELECT, INSERT'),
  ('form_submissions',   'SELECT, INSERT, UPDATE'),
  ('organisations',      'SELECT'),
  ('pipeline_moves',     'SELECT'),
  ('ready',              'SELECT, INSERT, UPDATE, DELETE'),
  ('replay_turns',       'SELECT, INSERT, UPDATE'),
  ('submission_states',  'SELECT'),
  ('submissions',        'SELECT, INSERT, UPDATE')) t(name, rights) WHERE a.table_name = t.name;

-- The organisation of the transaction; null without the setting, and when it is not a number.
CREATE FUNCTION tenant_org() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN current_setting('waybill.org', true) ~ '^[0-9]{1,9}$' THEN current_setting('waybill.org', true)::integer END
$$;

-- What stands against this role for tenants, in words; null if nothing does. A role that does not exist yet is no problem.
CREATE FUNCTION tenant_problem(tenant text) RETURNS text LANGUAGE plpgsql STABLE AS $$
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
END $$;

-- Gives the table this policy unless it has it. A role that does not exist needs none.
CREATE FUNCTION keep_policy(one regclass, policy name, grantee name, condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  role oid := (SELECT oid FROM pg_roles WHERE rolname = grantee);
BEGIN
  IF role IS NULL OR EXISTS (SELECT FROM pg_policy WHERE polrelid = one AND polname = policy AND polroles = ARRAY[role]) THEN
    RETURN;
  END IF;
  EXECUTE format('DROP POLICY IF EXISTS %I ON %s', policy, one);
  EXECUTE format('CREATE POLICY %I ON %s %s', policy, one, format(condition, grantee));
END $$;

-- Row level security of a table, its owner included. The owner and the application see all rows: their condition is a constant, which is
-- gone before a plan is made, and costs nothing. The sub-select asks for the setting once a statement, not once a row.
CREATE FUNCTION guard_rows(one regclass) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

CREATE OR REPLACE FUNCTION guard_partition(one regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                 ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
  EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
  -- Others than the owner read a partition through its parent only, where the parent's policies hold.
  PERFORM guard_rows(one);
END $$;

-- `grantee` is SQL text: a quoted role, or PUBLIC.
CREATE OR REPLACE FUNCTION take_access(grantee text) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- Brings grants and policies to what access_rules says. Run by `waybill migrate` within each migration, so that no table of a later one
-- is ever there without its grants, and by `waybill roles`. Locks a table only to give it a policy that it lacks.
CREATE OR REPLACE FUNCTION apply_access() RETURNS void LANGUAGE plpgsql AS $$
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
      EXECUTE format('GRANT EXECUTE ON FUNCTION tenant_org(), raise_alert(integer, text, text, text) TO %I', who.name);
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
END $$;

-- The tenant role is this one from now on.
CREATE FUNCTION grant_tenant(tenant text) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['tenant_problem(text)', 'keep_policy(regclass, name, name, text)', 'guard_rows(regclass)',
                             'guard_partition(regclass)', 'take_access(text)', 'apply_access()',
                             'grant_tenant(text)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', one);
  END LOOP;
END $$;
