-- The schema as it is now, to be read: `./dev schema` makes this file from the catalogue. The reasons stand in schema/*.sql, migration
-- by migration. Left out are partitions by month, which make_partitions() makes, and grants and policies, which follow from the rows of
-- access_rules by apply_access().

CREATE TYPE delivery_status AS ENUM ('waiting', 'open', 'due', 'claimed', 'accepted', 'rejected', 'exhausted', 'deferred', 'cancelled');

CREATE SEQUENCE object_ids AS bigint INCREMENT BY 1 CACHE 1;

CREATE TABLE access_rules (
  table_name text NOT NULL,
  application text NOT NULL,
  reader text,
  seen_with text,
  CONSTRAINT access_rules_pkey PRIMARY KEY (table_name),
  CONSTRAINT access_rules_seen_with_check CHECK (seen_with = ANY (ARRAY['itself'::text, 'submission'::text, 'delivery'::text]))
);

CREATE TABLE action_words (
  action_type text NOT NULL,
  done text NOT NULL,
  failed text NOT NULL,
  status_field text,
  ref_field text,
  CONSTRAINT action_words_pkey PRIMARY KEY (action_type)
);

CREATE TABLE alerts (
  org_id integer NOT NULL,
  incident text NOT NULL,
  kind text NOT NULL,
  message text NOT NULL,
  count bigint DEFAULT 1 NOT NULL,
  told bigint DEFAULT 0 NOT NULL,
  first_at timestamp with time zone DEFAULT now() NOT NULL,
  last_at timestamp with time zone DEFAULT now() NOT NULL,
  told_at timestamp with time zone,
  counted bigint DEFAULT 0 NOT NULL,
  telling text,
  telling_count bigint,
  summed boolean DEFAULT false NOT NULL,
  CONSTRAINT alerts_pkey PRIMARY KEY (org_id, incident),
  CONSTRAINT alerts_kind_check CHECK (kind = ANY (ARRAY['dead_letter'::text, 'infected_attachment'::text, 'stuck'::text, 'provider_failures'::text, 'plugin_crash'::text, 'plugin_switched_off'::text]))
);

CREATE TABLE api_tokens (
  token_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id integer NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  revoked_at timestamp with time zone,
  CONSTRAINT api_tokens_pkey PRIMARY KEY (token_id),
  CONSTRAINT api_tokens_hash_key UNIQUE (hash),
  CONSTRAINT api_tokens_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CONSTRAINT api_tokens_name_check CHECK (length(name) >= 1 AND length(name) <= 255),
  CONSTRAINT api_tokens_role_check CHECK (role = ANY (ARRAY['member'::text, 'admin'::text, 'owner'::text]))
);
CREATE UNIQUE INDEX api_tokens_live_name ON api_tokens USING btree (org_id, name) WHERE revoked_at IS NULL;

CREATE TABLE artifacts (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id integer NOT NULL,
  media_type text NOT NULL,
  body bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT artifacts_pkey PRIMARY KEY (shard, delivery_id),
  CONSTRAINT artifacts_media_type_check CHECK (length(media_type) >= 1 AND length(media_type) <= 255)
);
ALTER TABLE artifacts ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER artifacts_stay BEFORE UPDATE ON artifacts FOR EACH STATEMENT EXECUTE FUNCTION refuse('what was composed is sent as it is');

CREATE TABLE attachments (
  org_id integer NOT NULL,
  attachment_id text NOT NULL,
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  "position" smallint NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL,
  size bigint NOT NULL,
  object_uri text NOT NULL,
  scan text DEFAULT 'pending'::text NOT NULL,
  scanned_at timestamp with time zone,
  CONSTRAINT attachments_pkey PRIMARY KEY (org_id, attachment_id),
  CONSTRAINT attachments_scan_check CHECK (scan = ANY (ARRAY['pending'::text, 'clean'::text, 'infected'::text])),
  CONSTRAINT attachments_size_check CHECK (size >= 0)
);
CREATE INDEX attachments_of ON attachments USING btree (shard, submission_id, "position");
ALTER TABLE attachments ENABLE ROW LEVEL SECURITY;

CREATE TABLE attempts (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  number integer NOT NULL,
  org_id integer NOT NULL,
  started_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  outcome text NOT NULL,
  reason text,
  error text,
  code integer,
  provider_ref text,
  counts boolean DEFAULT true NOT NULL,
  CONSTRAINT attempts_pkey PRIMARY KEY (shard, delivery_id, number, started_at),
  CONSTRAINT attempts_outcome_check CHECK (outcome = ANY (ARRAY['accepted'::text, 'rejected'::text, 'deferred'::text, 'error'::text, 'unknown'::text]))
) PARTITION BY RANGE (started_at);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER attempts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');
CREATE TRIGGER attempts_rows_stay BEFORE DELETE OR UPDATE ON attempts FOR EACH ROW EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');

CREATE TABLE audit_log (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  created_at timestamp with time zone NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id integer NOT NULL,
  delivery_id bigint,
  action text NOT NULL,
  from_state text,
  to_state text,
  trigger text NOT NULL,
  actor text NOT NULL,
  actor_type text NOT NULL,
  metadata jsonb,
  CONSTRAINT audit_log_pkey PRIMARY KEY (shard, submission_id, created_at, id),
  CONSTRAINT audit_log_actor_type_check CHECK (actor_type = ANY (ARRAY['system'::text, 'worker'::text, 'admin'::text]))
) PARTITION BY RANGE (created_at);
CREATE TABLE audit_log_default PARTITION OF audit_log DEFAULT;
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_rows_stay BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');

CREATE TABLE claims (
  shard smallint NOT NULL,
  token bigint NOT NULL,
  host_id integer NOT NULL,
  lease_until timestamp with time zone NOT NULL,
  deliveries bigint[] STORAGE EXTERNAL NOT NULL,
  CONSTRAINT claims_pkey PRIMARY KEY (shard, token)
) WITH (autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE contract_snapshots (
  route_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id integer NOT NULL,
  hash bytea NOT NULL,
  contract text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT contract_snapshots_pkey PRIMARY KEY (route_id),
  CONSTRAINT contract_snapshots_org_id_hash_key UNIQUE (org_id, hash),
  CONSTRAINT contract_snapshots_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id)
);

CREATE TABLE dead_letter_edits (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  shard smallint NOT NULL,
  dead_letter_id bigint NOT NULL,
  submission_id bigint NOT NULL,
  org_id integer NOT NULL,
  edited_at timestamp with time zone DEFAULT now() NOT NULL,
  actor text NOT NULL,
  field text NOT NULL,
  before text NOT NULL,
  after text NOT NULL,
  CONSTRAINT dead_letter_edits_pkey PRIMARY KEY (id),
  CONSTRAINT dead_letter_edits_field_check CHECK (field = ANY (ARRAY['fields'::text, 'destination'::text]))
);
CREATE INDEX dead_letter_edits_of ON dead_letter_edits USING btree (shard, submission_id);
ALTER TABLE dead_letter_edits ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER dead_letter_edits_stay BEFORE UPDATE OR TRUNCATE ON dead_letter_edits FOR EACH STATEMENT EXECUTE FUNCTION refuse('what was edited is kept as it was, until its submission is purged');

CREATE TABLE dead_letters (
  shard smallint NOT NULL,
  id bigint NOT NULL,
  org_id integer NOT NULL,
  submission_id bigint NOT NULL,
  kind text NOT NULL,
  client_ref text NOT NULL,
  target text NOT NULL,
  action_order smallint NOT NULL,
  action_type text NOT NULL,
  reason text NOT NULL,
  died_at timestamp with time zone NOT NULL,
  payload bytea,
  destination text,
  replayed_at timestamp with time zone,
  replayed_by text,
  replay_delivery bigint,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (shard, id)
);
CREATE INDEX dead_letters_by_time ON dead_letters USING btree (org_id, died_at DESC, id DESC);
ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;

CREATE TABLE deliveries (
  shard smallint NOT NULL,
  id bigint NOT NULL,
  org_id integer NOT NULL,
  submission_id bigint NOT NULL,
  action_order smallint NOT NULL,
  action_type text NOT NULL,
  route_id integer NOT NULL,
  status delivery_status NOT NULL,
  attempt_count integer DEFAULT 0 NOT NULL,
  reason text,
  provider_ref text,
  result jsonb,
  ended_at timestamp with time zone NOT NULL,
  replay smallint DEFAULT 0 NOT NULL,
  CONSTRAINT deliveries_pkey PRIMARY KEY (shard, id),
  CONSTRAINT deliveries_ended CHECK (status = ANY (ARRAY['accepted'::delivery_status, 'rejected'::delivery_status, 'exhausted'::delivery_status, 'deferred'::delivery_status, 'cancelled'::delivery_status]))
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX deliveries_of ON deliveries USING btree (shard, org_id, submission_id, action_order, replay) WHERE id <> submission_id;
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER deliveries_stay AFTER UPDATE ON deliveries FOR EACH ROW WHEN (new.status <> old.status OR new.ended_at <> old.ended_at) EXECUTE FUNCTION refuse('a delivery that has ended does not change');

CREATE TABLE edited_payloads (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id integer NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT edited_payloads_pkey PRIMARY KEY (shard, delivery_id)
);
ALTER TABLE edited_payloads ENABLE ROW LEVEL SECURITY;

CREATE TABLE form_actions (
  form_id text NOT NULL,
  action_order smallint NOT NULL,
  action_type text NOT NULL,
  destination text NOT NULL,
  template_id text,
  subject_template text,
  happyfox_category text,
  CONSTRAINT form_actions_pkey PRIMARY KEY (form_id, action_order),
  CONSTRAINT form_actions_form_id_fkey FOREIGN KEY (form_id) REFERENCES forms(form_id) ON DELETE CASCADE
);

CREATE TABLE form_submissions (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id integer NOT NULL,
  finalized_at timestamp with time zone,
  processing_since timestamp with time zone,
  retention_expires_at timestamp with time zone NOT NULL,
  purged_at timestamp with time zone,
  CONSTRAINT form_submissions_pkey PRIMARY KEY (shard, submission_id)
);
CREATE INDEX form_submissions_kept ON form_submissions USING btree (shard, retention_expires_at) WHERE purged_at IS NULL;
CREATE INDEX form_submissions_processing ON form_submissions USING btree (shard, processing_since) WHERE processing_since IS NOT NULL;
ALTER TABLE form_submissions ENABLE ROW LEVEL SECURITY;

CREATE TABLE forms (
  form_id text NOT NULL,
  name text NOT NULL,
  loaded_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT forms_pkey PRIMARY KEY (form_id)
);

CREATE TABLE hosts (
  host_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  knows integer,
  CONSTRAINT hosts_pkey PRIMARY KEY (host_id)
);
CREATE TRIGGER hosts_version BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION check_host_version();

CREATE TABLE installation (
  only_row boolean DEFAULT true NOT NULL,
  shards smallint DEFAULT 1 NOT NULL,
  application_role text,
  reader_role text,
  CONSTRAINT installation_pkey PRIMARY KEY (only_row),
  CONSTRAINT installation_only_row_check CHECK (only_row),
  CONSTRAINT installation_shards_check CHECK (shards >= 1 AND shards <= 1024)
);

CREATE TABLE organisations (
  org_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT organisations_pkey PRIMARY KEY (org_id),
  CONSTRAINT organisations_name_key UNIQUE (name),
  CONSTRAINT organisations_name_check CHECK (length(name) >= 1 AND length(name) <= 255)
);

CREATE TABLE pipeline_moves (
  pipeline text NOT NULL,
  from_state text NOT NULL,
  to_state text NOT NULL,
  CONSTRAINT pipeline_moves_pkey PRIMARY KEY (pipeline, from_state, to_state)
);

CREATE TABLE provider_failures (
  org_id integer NOT NULL,
  until timestamp with time zone NOT NULL,
  action_type text NOT NULL,
  target text NOT NULL,
  reason text NOT NULL,
  since timestamp with time zone NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT provider_failures_pkey PRIMARY KEY (org_id, until, action_type, target, reason)
) WITH (fillfactor = 50);

CREATE TABLE ready (
  shard smallint NOT NULL,
  action_order smallint NOT NULL,
  org_id integer NOT NULL,
  delivery_id bigint NOT NULL,
  submission_id bigint NOT NULL,
  due_at timestamp with time zone NOT NULL,
  route_id integer NOT NULL,
  attempt_count integer DEFAULT 0 NOT NULL,
  claim_token bigint,
  claimed_at timestamp with time zone,
  lease_until timestamp with time zone,
  claimed_by integer,
  lease_lost smallint DEFAULT 0 NOT NULL,
  maybe_sent boolean DEFAULT false NOT NULL,
  status delivery_status NOT NULL,
  composed boolean DEFAULT false NOT NULL,
  progress text,
  edited boolean DEFAULT false NOT NULL,
  queued boolean DEFAULT true NOT NULL,
  uncounted integer DEFAULT 0 NOT NULL,
  replay smallint DEFAULT 0 NOT NULL,
  CONSTRAINT ready_pkey PRIMARY KEY (shard, delivery_id),
  CONSTRAINT ready_check CHECK (queued AND lease_lost = 0 AND (status = 'claimed'::delivery_status OR status = 'due'::delivery_status) OR NOT queued AND (lease_lost > 0 AND (status = 'claimed'::delivery_status OR status = 'due'::delivery_status) OR lease_lost = 0 AND (status = 'waiting'::delivery_status OR status = 'open'::delivery_status)))
) WITH (autovacuum_analyze_scale_factor = 0.0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, fillfactor = 45);
CREATE INDEX ready_due ON ready USING btree (shard, route_id, due_at, delivery_id) WHERE queued;
CREATE UNIQUE INDEX ready_of ON ready USING btree (shard, org_id, submission_id, action_order, replay) WHERE delivery_id <> submission_id;
CREATE INDEX ready_suspects ON ready USING btree (shard, due_at, delivery_id) WHERE lease_lost > 0;
ALTER TABLE ready ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER ready_moves AFTER UPDATE ON ready FOR EACH ROW WHEN (new.status <> old.status AND NOT ((old.status = ANY (ARRAY['waiting'::delivery_status, 'open'::delivery_status])) AND new.status = 'due'::delivery_status OR old.status = 'due'::delivery_status AND new.status = 'claimed'::delivery_status OR old.status = 'claimed'::delivery_status AND new.status = 'due'::delivery_status)) EXECUTE FUNCTION refuse('a delivery cannot make this move');

CREATE TABLE replay_turns (
  org_id integer NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT replay_turns_pkey PRIMARY KEY (org_id)
);

CREATE TABLE schema_migrations (
  version integer NOT NULL,
  name text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  runs_beside integer,
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE submissions (
  shard smallint NOT NULL,
  id bigint NOT NULL,
  org_id integer NOT NULL,
  kind text NOT NULL,
  client_ref text NOT NULL,
  pipeline text NOT NULL,
  target text NOT NULL,
  state text NOT NULL,
  reason text,
  payload_hash bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone,
  body bytea,
  CONSTRAINT submissions_pkey PRIMARY KEY (shard, id),
  CONSTRAINT submissions_shard_org_id_kind_client_ref_key UNIQUE (shard, org_id, kind, client_ref),
  CONSTRAINT submissions_check CHECK (pipeline <> 'intent'::text OR state = 'as_delivery'::text OR completed_at IS NOT NULL) NOT VALID
) WITH (fillfactor = 90);
ALTER TABLE submissions ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER submissions_body BEFORE UPDATE OF body ON submissions FOR EACH ROW WHEN (new.body IS DISTINCT FROM old.body AND NOT (new.body IS NULL AND new.state = 'purged'::text)) EXECUTE FUNCTION refuse('what was handed in does not change');
CREATE TRIGGER submissions_ends BEFORE UPDATE ON submissions FOR EACH ROW WHEN (old.pipeline = 'intent'::text AND old.completed_at IS NOT NULL AND new.completed_at IS DISTINCT FROM old.completed_at) EXECUTE FUNCTION refuse('a submission that has ended does not change');
CREATE TRIGGER submissions_follow BEFORE UPDATE ON submissions FOR EACH ROW WHEN (old.state = 'as_delivery'::text AND (new.state <> old.state OR new.reason IS NOT NULL OR new.completed_at IS NOT NULL)) EXECUTE FUNCTION refuse('this submission''s state is its delivery''s');
CREATE TRIGGER submissions_moves BEFORE UPDATE ON submissions FOR EACH ROW WHEN (new.state <> old.state AND (old.pipeline <> 'intent'::text OR old.completed_at IS NOT NULL)) EXECUTE FUNCTION check_move();

CREATE TABLE target_rates (
  org_id integer NOT NULL,
  target text NOT NULL,
  next_at timestamp with time zone NOT NULL,
  CONSTRAINT target_rates_pkey PRIMARY KEY (org_id, target)
);

CREATE TABLE target_rests (
  org_id integer NOT NULL,
  target text NOT NULL,
  until timestamp with time zone NOT NULL,
  reason text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  probe_until timestamp with time zone,
  probe_host integer,
  CONSTRAINT target_rests_pkey PRIMARY KEY (org_id, target)
);

CREATE VIEW claimed WITH (security_invoker = true) AS
 SELECT r.shard,
    r.action_order,
    r.org_id,
    r.delivery_id,
    r.submission_id,
    r.due_at,
    r.route_id,
    r.attempt_count,
    r.claim_token,
    r.claimed_at,
    r.lease_until,
    r.claimed_by,
    r.lease_lost,
    r.maybe_sent,
    r.status,
    r.composed,
    r.progress,
    r.edited,
    r.queued,
    r.uncounted,
    c.host_id,
    c.lease_until AS claim_ends
   FROM claims c
     CROSS JOIN LATERAL unnest(c.deliveries) one(delivery_id)
     JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed'::delivery_status;

CREATE VIEW submission_states WITH (security_invoker = true) AS
 SELECT s.shard,
    s.id,
    s.org_id,
    s.kind,
    s.client_ref,
    s.pipeline,
    s.target,
        CASE
            WHEN s.state <> 'as_delivery'::text THEN s.state
            WHEN e.ended_at IS NOT NULL THEN e.status::text
            ELSE COALESCE(d.status::text, o.status::text, 'pending'::text)
        END AS state,
        CASE
            WHEN s.state <> 'as_delivery'::text THEN s.reason
            WHEN e.ended_at IS NOT NULL THEN e.reason
            ELSE COALESCE(d.reason, o.reason)
        END AS reason,
    s.payload_hash,
    s.created_at,
        CASE
            WHEN s.state <> 'as_delivery'::text THEN s.completed_at
            ELSE COALESCE(e.ended_at, d.ended_at, o.ended_at)
        END AS completed_at
   FROM submissions s
     LEFT JOIN deliveries d ON s.state = 'as_delivery'::text AND d.shard = s.shard AND d.id = s.id
     LEFT JOIN deliveries o ON s.state = 'as_delivery'::text AND d.id IS NULL AND o.shard = s.shard AND o.org_id = s.org_id AND o.submission_id = s.id AND o.id <> o.submission_id AND o.action_order = 1 AND o.replay = 0
     LEFT JOIN LATERAL ( SELECT r.status,
            r.reason,
            r.ended_at
           FROM deliveries r
          WHERE COALESCE(d.reason, o.reason) = 'worker_lost'::text AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
          ORDER BY r.replay DESC
         LIMIT 1) e ON true;

CREATE FUNCTION access_problem(application text, reader text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION apply_access()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
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
                   'access_problem', 'apply_access', 'guard_partition', 'lock_holders', 'grant_access', 'guard_partitions', 'take_access']) LOOP
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
            ELSE 'EXISTS (SELECT FROM deliveries d WHERE d.shard = %1$I.shard AND d.id = %1$I.delivery_id)'
              ' OR EXISTS (SELECT FROM ready r WHERE r.shard = %1$I.shard AND r.delivery_id = %1$I.delivery_id)' END, rule.table_name));
      END IF;
    END LOOP;
  END LOOP;
END $function$;

CREATE FUNCTION at_micros(us bigint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT timestamptz 'epoch' + us * interval '1 microsecond' $function$;

CREATE FUNCTION check_host_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION check_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM pipeline_moves WHERE pipeline = NEW.pipeline AND from_state = OLD.state AND to_state = NEW.state) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'waybill: a submission of pipeline % cannot move from % to %', NEW.pipeline, OLD.state, NEW.state
    USING ERRCODE = 'check_violation';
END $function$;

CREATE FUNCTION grant_access(application text, reader text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION guard_partition(one regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                 ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
  EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
  -- No policy: whoever is not the owner sees a partition through its parent only, where the parent's policies hold.
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', one);
END $function$;

CREATE FUNCTION guard_partitions()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  one regclass;
BEGIN
  FOR one IN
    SELECT i.inhrelid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('attempts'::regclass, 'audit_log'::regclass)
      AND pg_has_role(c.relowner, 'USAGE')  -- another's table is its owner's affair
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = i.inhrelid AND t.tgname = 'append_only')
  LOOP
    PERFORM guard_partition(one);
  END LOOP;
END $function$;

CREATE FUNCTION lock_holders(parent text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  SELECT 'a partition of ' || parent || ' waits for ' || coalesce(string_agg(DISTINCT format('process %s (%s)', l.pid,
    coalesce(nullif(a.application_name, ''), 'unnamed')), ', '), 'a lock that is gone by now')
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.granted AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.relation = (SELECT partdefid FROM pg_partitioned_table WHERE partrelid = parent::regclass)
$function$;

CREATE FUNCTION make_partitions(months_ahead integer)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'waybill', 'pg_temp'
AS $function$ SELECT made FROM make_partitions_now(months_ahead) $function$;

CREATE FUNCTION make_partitions_now(months_ahead integer, OUT made integer, OUT postponed text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '200ms'
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  parent text;
  fresh  text;
  first  date;
BEGIN
  made := 0;
  -- Several hosts ask at the same hour.
  IF NOT pg_try_advisory_xact_lock(hashtext('waybill-partitions:' || current_schema())) THEN RETURN; END IF;
  FOREACH parent IN ARRAY ARRAY['attempts', 'audit_log'] LOOP
    FOR i IN 0..least(months_ahead, 24) LOOP
      first := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => i))::date;
      fresh := format('%I', parent || to_char(first, '_YYYY_MM'));
      CONTINUE WHEN to_regclass(fresh) IS NOT NULL;
      BEGIN
        EXECUTE format('CREATE TABLE %s (LIKE %I INCLUDING ALL EXCLUDING IDENTITY)', fresh, parent);
        PERFORM guard_partition(fresh::regclass);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent, fresh,
                       first::timestamp AT TIME ZONE 'UTC', (first + interval '1 month')::timestamp AT TIME ZONE 'UTC');
        made := made + 1;
      EXCEPTION
        WHEN check_violation THEN NULL;  -- the default partition has rows of that month: it keeps the month
        WHEN lock_not_available THEN
          postponed := concat_ws('; ', postponed, lock_holders(parent));
          EXIT;  -- the months after it would wait for the same
      END;
    END LOOP;
  END LOOP;
  BEGIN
    PERFORM guard_partitions();
  EXCEPTION WHEN lock_not_available THEN
    postponed := concat_ws('; ', postponed, 'a partition that was attached by hand is in use and not guarded yet');
  END;
END $function$;

CREATE FUNCTION micros(t timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT (date_part('epoch', t) * 1000000)::bigint $function$;

CREATE FUNCTION raise_alert(org integer, what text, about text, words text)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
$function$;

CREATE FUNCTION refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'waybill: % on % is not allowed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation', HINT = TG_ARGV[0];
END $function$;

CREATE FUNCTION remind_alert(org integer, what text, about text, words text, apart interval)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
  WHERE alerts.last_at <= now() - apart
$function$;

CREATE FUNCTION take_access(grantee text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
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
END $function$;

CREATE FUNCTION take_permits(org integer, name text, wanted integer, apart interval, burst integer, OUT granted integer, OUT wait bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  at    timestamptz;
  since timestamptz;
BEGIN
  INSERT INTO target_rates VALUES (org, name, 'epoch') ON CONFLICT DO NOTHING;
  SELECT next_at INTO since FROM target_rates WHERE org_id = org AND target = name FOR UPDATE;
  at := clock_timestamp();  -- read once the row is ours
  since := greatest(since, at - apart * (burst - 1));
  granted := least(wanted, CASE WHEN since > at THEN 0 ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM apart))::integer + 1 END);
  since := since + apart * granted;
  UPDATE target_rates SET next_at = since WHERE org_id = org AND target = name;
  wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
END $function$;
