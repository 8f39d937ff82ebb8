-- Who may do what: an application role, a role that only reads and sees nothing purged, and logs that nobody changes.

-- ---- append-only, also past the parent ----

-- A statement that names a partition does not fire its parent's triggers for statements: each partition has its own, and keeps it when
-- it is detached. The triggers for rows are copied to every partition by PostgreSQL itself, also to one attached by hand. ALWAYS: not
-- even session_replication_role = replica passes them over.
CREATE TRIGGER attempts_rows_stay BEFORE UPDATE OR DELETE ON attempts FOR EACH ROW
  EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_rows_stay BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW
  EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
ALTER TABLE attempts ENABLE ALWAYS TRIGGER attempts_rows_stay, ENABLE ALWAYS TRIGGER attempts_append_only;
ALTER TABLE audit_log ENABLE ALWAYS TRIGGER audit_log_rows_stay, ENABLE ALWAYS TRIGGER audit_log_append_only;

CREATE FUNCTION guard_partitions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one regclass;
BEGIN
  FOR one IN
    SELECT i.inhrelid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('attempts'::regclass, 'audit_log'::regclass)
      AND pg_has_role(c.relowner, 'USAGE')  -- another's table, attached by hand, is its owner's affair
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = i.inhrelid AND t.tgname = 'append_only')
  LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                   ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
    -- No policy: whoever is not the owner sees a partition through its parent only, where the parent's policies hold.
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', one);
  END LOOP;
END $$;

-- As before, but with its owner's rights, so that the application role has partitions made without owning anything; and guarded.
CREATE OR REPLACE FUNCTION make_partitions(months_ahead integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  parent text;
  first  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('waybill-partitions:' || current_schema()));  -- several hosts ask at the same hour
  FOREACH parent IN ARRAY ARRAY['attempts', 'audit_log'] LOOP
    FOR i IN 0..least(months_ahead, 24) LOOP
      first := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i))::date;
      CONTINUE WHEN to_regclass(format('%I', parent || to_char(first, '_YYYY_MM'))) IS NOT NULL;
      BEGIN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', parent || to_char(first, '_YYYY_MM'), parent,
                       first::timestamp AT TIME ZONE 'UTC', (first + interval '1 month')::timestamp AT TIME ZONE 'UTC');
        made := made + 1;
      EXCEPTION WHEN check_violation THEN NULL;  -- the default partition has rows of that month: it keeps the month
      END;
    END LOOP;
  END LOOP;
  PERFORM guard_partitions();
  RETURN made;
END $$;
REVOKE ALL ON FUNCTION make_partitions(integer), guard_partitions() FROM PUBLIC;

CREATE TRIGGER dead_letter_edits_stay BEFORE UPDATE OR TRUNCATE ON dead_letter_edits FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('what was edited is kept as it was, until its submission is purged');
ALTER TABLE dead_letter_edits ENABLE ALWAYS TRIGGER dead_letter_edits_stay;

-- ---- two roles ----

ALTER TABLE installation ADD COLUMN application_role text, ADD COLUMN reader_role text;  -- null: none were set up

-- What each role may do with each table. A migration that makes a table adds its row here; a test walks all tables.
CREATE TABLE access_rules (
  table_name  text PRIMARY KEY,
  application text NOT NULL,  -- privileges, as GRANT takes them
  reader      text,           -- null: none
  seen_with   text CHECK (seen_with IN ('itself', 'submission', 'delivery'))  -- the reader sees a row only where it sees this
);
INSERT INTO access_rules VALUES
  ('access_rules',       'SELECT',                                 'SELECT', NULL),
  ('action_words',       'SELECT',                                 'SELECT', NULL),
  ('alerts',             'SELECT, INSERT, UPDATE, DELETE',         'SELECT', NULL),
  ('api_tokens',         'SELECT, INSERT, UPDATE (revoked_at)',    'SELECT (token_id, org_id, name, role, created_at, revoked_at)', NULL),
  ('artifacts',          'SELECT, INSERT, DELETE',                 'SELECT', 'delivery'),
  ('attachments',        'SELECT, INSERT, UPDATE, DELETE',         'SELECT', 'submission'),
  ('attempts',           'SELECT, INSERT',                         'SELECT', 'delivery'),
  ('audit_log',          'SELECT, INSERT',                         'SELECT', 'submission'),
  ('contract_snapshots', 'SELECT, INSERT',                         'SELECT', NULL),
  ('dead_letter_edits',  'SELECT, INSERT, DELETE',                 'SELECT', 'submission'),
  ('dead_letters',       'SELECT, INSERT, UPDATE, DELETE',         'SELECT', 'submission'),
  ('deliveries',         'SELECT, INSERT, UPDATE',                 'SELECT', 'submission'),
  ('edited_payloads',    'SELECT, INSERT, DELETE',                 'SELECT', 'delivery'),
  ('form_actions',       'SELECT, INSERT, UPDATE, DELETE',         'SELECT', NULL),
  ('form_submissions',   'SELECT, INSERT, UPDATE',                 'SELECT', 'submission'),
  ('forms',              'SELECT, INSERT, UPDATE, DELETE',         'SELECT', NULL),
  ('hosts',              'SELECT, INSERT, DELETE',                 'SELECT', NULL),
  ('installation',       'SELECT',                                 'SELECT', NULL),
  ('organisations',      'SELECT',                                 'SELECT', NULL),
  ('payloads',           'SELECT, INSERT, DELETE',                 'SELECT', 'submission'),
  ('pipeline_moves',     'SELECT',                                 'SELECT', NULL),
  ('provider_failures',  'SELECT, INSERT, UPDATE, DELETE',         'SELECT', NULL),
  ('ready',              'SELECT, INSERT, UPDATE, DELETE',         'SELECT', 'submission'),
  ('schema_migrations',  'SELECT',                                 'SELECT', NULL),
  ('submissions',        'SELECT, INSERT, UPDATE',                 'SELECT', 'itself'),
  ('target_rests',       'SELECT, INSERT, UPDATE',                 'SELECT', NULL);

-- What stands against these two roles, in words; null if nothing does. A role that does not exist yet is no problem.
CREATE FUNCTION access_problem(application text, reader text) RETURNS text LANGUAGE plpgsql STABLE AS $$
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
END $$;

-- `grantee` is SQL text: a quoted role, or PUBLIC.
CREATE FUNCTION take_access(grantee text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kind text;
  one  regtype;
BEGIN
  FOREACH kind IN ARRAY ARRAY['ALL TABLES IN SCHEMA', 'ALL SEQUENCES IN SCHEMA', 'ALL FUNCTIONS IN SCHEMA', 'SCHEMA'] LOOP
    EXECUTE format('REVOKE ALL ON %s %I FROM %s', kind, current_schema(), grantee);
  END LOOP;
  FOR one IN SELECT oid FROM pg_type WHERE typnamespace = current_schema()::regnamespace AND typtype IN ('e', 'd') LOOP
    EXECUTE format('REVOKE ALL ON TYPE %s FROM %s', one, grantee);
  END LOOP;
END $$;

-- Brings grants and policies to what access_rules says. Run by `waybill migrate` within each migration, so that no table of a later one
-- is ever there without its grants, and by `waybill roles`. Locks a table only to give it a policy that it lacks.
CREATE FUNCTION apply_access() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  who  record;
  rule access_rules;
  one  oid;
BEGIN
  FOR rule IN SELECT a.* FROM access_rules a JOIN pg_class c ON c.oid = a.table_name::regclass
              WHERE a.seen_with IS NOT NULL AND NOT c.relrowsecurity LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', rule.table_name);
  END LOOP;
  FOR who IN SELECT r.oid AS role, r.rolname AS name, w.is_application
             FROM installation i, LATERAL (VALUES (i.application_role, true), (i.reader_role, false)) w(name, is_application)
             JOIN pg_roles r ON r.rolname = w.name LOOP
    PERFORM take_access('PUBLIC');
    PERFORM take_access(quote_ident(who.name));
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), who.name);
    EXECUTE format('GRANT USAGE ON TYPE delivery_status TO %I', who.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION micros(timestamptz), at_micros(bigint) TO %I', who.name);
    IF who.is_application THEN
      EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', current_schema(), who.name);
      FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND NOT proname = ANY (ARRAY[
                   'access_problem', 'apply_access', 'grant_access', 'guard_partitions', 'take_access']) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', one::regprocedure, who.name);
      END LOOP;
    END IF;
    FOR rule IN SELECT * FROM access_rules WHERE who.is_application OR reader IS NOT NULL LOOP
      EXECUTE format('GRANT %s ON TABLE %I TO %I', CASE WHEN who.is_application THEN rule.application ELSE rule.reader END,
                     rule.table_name, who.name);
      CONTINUE WHEN rule.seen_with IS NULL
        OR EXISTS (SELECT FROM pg_policy WHERE polrelid = rule.table_name::regclass AND polroles = ARRAY[who.role]
                                           AND polname = CASE WHEN who.is_application THEN 'application' ELSE 'reader' END);
      IF who.is_application THEN
        -- The constant is gone before a plan is made: row level security costs the road nothing.
        EXECUTE format('DROP POLICY IF EXISTS application ON %I', rule.table_name);
        EXECUTE format('CREATE POLICY application ON %I TO %I USING (true) WITH CHECK (true)', rule.table_name, who.name);
      ELSE
        -- The tables in these conditions are under the reader's policies themselves: what belongs to a row that it does not see, it
        -- does not see either. Submission 0: the audit of what is not about a submission, such as loading forms.
        EXECUTE format('DROP POLICY IF EXISTS reader ON %I', rule.table_name);
        EXECUTE format('CREATE POLICY reader ON %1$I FOR SELECT TO %2$I USING (%3$s)', rule.table_name, who.name,
          format(CASE rule.seen_with
            WHEN 'itself' THEN 'state <> ''purged'''
            WHEN 'submission' THEN 'submission_id = 0'
              ' OR EXISTS (SELECT FROM submissions s WHERE s.shard = %1$I.shard AND s.id = %1$I.submission_id)'
            ELSE 'EXISTS (SELECT FROM deliveries d WHERE d.shard = %1$I.shard AND d.id = %1$I.delivery_id)' END, rule.table_name));
      END IF;
    END LOOP;
  END LOOP;
END $$;

CREATE FUNCTION grant_access(application text, reader text) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- With their owner's rights, or called from wherever: what they name is this schema's, and never a caller's temporary table.
DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['make_partitions(integer)', 'guard_partitions()', 'check_move()', 'access_problem(text, text)',
                             'take_access(text)', 'apply_access()', 'grant_access(text, text)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
  END LOOP;
END $$;
SELECT guard_partitions();
