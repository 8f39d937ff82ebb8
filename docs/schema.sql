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
  tenant text,
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

CREATE TABLE alert_events (
  org_id integer NOT NULL,
  rule_id uuid NOT NULL,
  event_id text NOT NULL,
  event_no bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  snapshot text NOT NULL,
  suppressed boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  fanned_out_at timestamp with time zone,
  trace text,
  CONSTRAINT alert_events_pkey PRIMARY KEY (org_id, rule_id, event_id),
  CONSTRAINT alert_events_org_id_rule_id_fkey FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules(org_id, rule_id),
  CONSTRAINT alert_events_event_id_check CHECK (length(event_id) >= 1 AND length(event_id) <= 255),
  CONSTRAINT alert_events_snapshot_check CHECK (snapshot::json IS NOT NULL)
);
CREATE INDEX alert_events_ages ON alert_events USING btree (created_at);
CREATE UNIQUE INDEX alert_events_numbers ON alert_events USING btree (event_no);
CREATE INDEX alert_events_turns ON alert_events USING btree (org_id, event_no) WHERE fanned_out_at IS NULL;
ALTER TABLE alert_events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE alert_rules (
  org_id integer NOT NULL,
  rule_id uuid DEFAULT gen_random_uuid() NOT NULL,
  name text NOT NULL,
  status text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT alert_rules_pkey PRIMARY KEY (org_id, rule_id),
  CONSTRAINT alert_rules_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CONSTRAINT alert_rules_name_check CHECK (length(name) >= 1 AND length(name) <= 255),
  CONSTRAINT alert_rules_status_check CHECK (status = ANY (ARRAY['draft'::text, 'active'::text, 'disabled'::text]))
);
CREATE INDEX alert_rules_newest ON alert_rules USING btree (org_id, created_at DESC, rule_id DESC) WHERE deleted_at IS NULL;
ALTER TABLE alert_rules ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
  summed_with_others boolean DEFAULT false NOT NULL,
  CONSTRAINT alerts_pkey PRIMARY KEY (org_id, incident),
  CONSTRAINT alerts_kind_check CHECK (kind = ANY (ARRAY['channel_disabled'::text, 'dead_letter'::text, 'failed_messages'::text, 'infected_attachment'::text, 'old_secret'::text, 'pipeline_stuck'::text, 'plugin_crash'::text, 'plugin_hung'::text, 'plugin_switched_off'::text, 'provider_failures'::text, 'retention_expired'::text, 'secret_locked'::text, 'stuck'::text]))
);
ALTER TABLE alerts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE api_tokens (
  token_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id integer NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  revoked_at timestamp with time zone,
  public_id text DEFAULT "left"(replace(gen_random_uuid()::text, '-'::text, ''::text), 12) NOT NULL,
  operates boolean DEFAULT false NOT NULL,
  expires_at timestamp with time zone,
  only_targets text[],
  only_paths text[],
  certificate boolean DEFAULT false NOT NULL,
  CONSTRAINT api_tokens_pkey PRIMARY KEY (token_id),
  CONSTRAINT api_tokens_hash_key UNIQUE (hash),
  CONSTRAINT api_tokens_public_id_key UNIQUE (public_id),
  CONSTRAINT api_tokens_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CONSTRAINT api_tokens_check CHECK (NOT operates OR org_id = 1 AND role = 'owner'::text),
  CONSTRAINT api_tokens_name_check CHECK (length(name) >= 1 AND length(name) <= 255),
  CONSTRAINT api_tokens_only_paths_check CHECK (cardinality(only_paths) > 0),
  CONSTRAINT api_tokens_only_targets_check CHECK (cardinality(only_targets) > 0),
  CONSTRAINT api_tokens_role_check CHECK (role = ANY (ARRAY['member'::text, 'admin'::text, 'owner'::text]))
);
CREATE UNIQUE INDEX api_tokens_live_name ON api_tokens USING btree (org_id, name) WHERE revoked_at IS NULL;
ALTER TABLE api_tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE archived_submissions (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id integer NOT NULL,
  client_ref text NOT NULL,
  pipeline text NOT NULL,
  state text NOT NULL,
  reference text,
  metadata text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  blocked_at timestamp with time zone,
  ended_at timestamp with time zone,
  archived_at timestamp with time zone DEFAULT now() NOT NULL,
  record text NOT NULL,
  CONSTRAINT archived_submissions_pkey PRIMARY KEY (shard, submission_id),
  CONSTRAINT archived_submissions_metadata_check CHECK (metadata::json IS NOT NULL),
  CONSTRAINT archived_submissions_record_check CHECK (record::json IS NOT NULL)
);
CREATE INDEX archived_submissions_ages ON archived_submissions USING btree (archived_at);
CREATE INDEX archived_submissions_names ON archived_submissions USING btree (org_id, client_ref);
CREATE INDEX archived_submissions_newest ON archived_submissions USING btree (org_id, archived_at DESC, submission_id DESC);
CREATE INDEX archived_submissions_references ON archived_submissions USING btree (org_id, reference) WHERE reference IS NOT NULL;
ALTER TABLE archived_submissions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
ALTER TABLE artifacts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
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
CREATE INDEX attachments_pending ON attachments USING btree (shard, submission_id) WHERE scan = 'pending'::text;
ALTER TABLE attachments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
  answer jsonb,
  maybe_sent boolean,
  sent_hash bytea,
  signed_with text,
  CONSTRAINT attempts_pkey PRIMARY KEY (shard, delivery_id, number, started_at),
  CONSTRAINT attempts_outcome_check CHECK (outcome = ANY (ARRAY['accepted'::text, 'rejected'::text, 'deferred'::text, 'error'::text, 'unknown'::text]))
) PARTITION BY RANGE (started_at);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
ALTER TABLE attempts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
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
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_rows_stay BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');

CREATE TABLE channel_hosts (
  org_id integer NOT NULL,
  host_id integer NOT NULL,
  renewed_at timestamp with time zone,
  lease_until timestamp with time zone,
  CONSTRAINT channel_hosts_pkey PRIMARY KEY (org_id)
);
ALTER TABLE channel_hosts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE channel_types (
  type text NOT NULL,
  CONSTRAINT channel_types_pkey PRIMARY KEY (type)
);

CREATE TABLE channels (
  org_id integer NOT NULL,
  channel_id uuid DEFAULT gen_random_uuid() NOT NULL,
  shard smallint NOT NULL,
  route_id integer NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  config text NOT NULL,
  key_id integer NOT NULL,
  secret bytea NOT NULL,
  secondary_secret bytea,
  rotated_at timestamp with time zone,
  failing_since timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_reason text,
  deleted_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT channels_pkey PRIMARY KEY (org_id, channel_id),
  CONSTRAINT channels_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CONSTRAINT channels_org_id_key_id_fkey FOREIGN KEY (org_id, key_id) REFERENCES org_keys(org_id, key_id),
  CONSTRAINT channels_route_id_fkey FOREIGN KEY (route_id) REFERENCES contract_snapshots(route_id),
  CONSTRAINT channels_type_fkey FOREIGN KEY (type) REFERENCES channel_types(type),
  CONSTRAINT channels_config_check CHECK (config::jsonb ? 'url'::text),
  CONSTRAINT channels_name_check CHECK (length(name) >= 1 AND length(name) <= 255)
);
CREATE UNIQUE INDEX channels_names ON channels USING btree (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX channels_rotated ON channels USING btree (rotated_at) WHERE secondary_secret IS NOT NULL;
ALTER TABLE channels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
ALTER TABLE contract_snapshots ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE cut_off_hosts (
  host_id integer NOT NULL,
  since timestamp with time zone NOT NULL,
  target text NOT NULL,
  CONSTRAINT cut_off_hosts_pkey PRIMARY KEY (host_id)
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
ALTER TABLE dead_letter_edits ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
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
CREATE INDEX dead_letters_waiting ON dead_letters USING btree (org_id) WHERE replayed_at IS NULL;
ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
CREATE INDEX deliveries_failed ON deliveries USING btree (org_id, ended_at DESC, id DESC) WHERE status = ANY (ARRAY['rejected'::delivery_status, 'exhausted'::delivery_status]);
CREATE UNIQUE INDEX deliveries_of ON deliveries USING btree (shard, org_id, submission_id, action_order, replay) WHERE id <> submission_id;
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TRIGGER deliveries_stay AFTER UPDATE ON deliveries FOR EACH ROW WHEN (new.status <> old.status OR new.ended_at <> old.ended_at) EXECUTE FUNCTION refuse('a delivery that has ended does not change');

CREATE TABLE digest_failures (
  org_id integer NOT NULL,
  identity bytea NOT NULL,
  digest_id bigint NOT NULL,
  target text NOT NULL,
  action_type text NOT NULL,
  status text NOT NULL,
  detail text NOT NULL,
  failed_at timestamp with time zone,
  provider_ref text NOT NULL,
  reference text NOT NULL,
  shard smallint,
  submission_id bigint,
  client_ref text,
  CONSTRAINT digest_failures_pkey PRIMARY KEY (org_id, identity)
);
CREATE INDEX digest_failures_of ON digest_failures USING btree (digest_id, org_id);
ALTER TABLE digest_failures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE edited_payloads (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id integer NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT edited_payloads_pkey PRIMARY KEY (shard, delivery_id)
);
ALTER TABLE edited_payloads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE erasures (
  erased_org integer NOT NULL,
  table_name text NOT NULL,
  rows bigint NOT NULL,
  oldest timestamp with time zone,
  newest timestamp with time zone,
  digest text NOT NULL,
  begun_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT erasures_pkey PRIMARY KEY (erased_org, table_name)
);

CREATE TABLE failure_check_hosts (
  host_id integer NOT NULL,
  schedule text NOT NULL,
  CONSTRAINT failure_check_hosts_pkey PRIMARY KEY (host_id)
);

CREATE TABLE failure_check_targets (
  target text NOT NULL,
  checked_until timestamp with time zone NOT NULL,
  CONSTRAINT failure_check_targets_pkey PRIMARY KEY (target)
);

CREATE TABLE failure_checks (
  only_row boolean DEFAULT true NOT NULL,
  schedule text NOT NULL,
  next_at timestamp with time zone,
  last_tick timestamp with time zone,
  tick timestamp with time zone,
  by_hand boolean DEFAULT false NOT NULL,
  begun_at timestamp with time zone,
  digest_id bigint,
  token bigint,
  host text,
  lease_until timestamp with time zone,
  tries integer DEFAULT 0 NOT NULL,
  CONSTRAINT failure_checks_pkey PRIMARY KEY (only_row),
  CONSTRAINT failure_checks_only_row_check CHECK (only_row)
);

CREATE TABLE failure_digests (
  org_id integer NOT NULL,
  digest_id bigint NOT NULL,
  tick timestamp with time zone NOT NULL,
  by_hand boolean NOT NULL,
  begun_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone DEFAULT now() NOT NULL,
  targets text[] NOT NULL,
  problems text[] NOT NULL,
  failures bigint NOT NULL,
  by_status text NOT NULL,
  CONSTRAINT failure_digests_pkey PRIMARY KEY (org_id, digest_id),
  CONSTRAINT failure_digests_by_status_check CHECK (by_status::json IS NOT NULL)
);
CREATE INDEX failure_digests_ages ON failure_digests USING btree (finished_at);
ALTER TABLE failure_digests ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
ALTER TABLE form_submissions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE forms (
  form_id text NOT NULL,
  name text NOT NULL,
  loaded_at timestamp with time zone DEFAULT now() NOT NULL,
  further text DEFAULT ''::text NOT NULL,
  CONSTRAINT forms_pkey PRIMARY KEY (form_id)
);

CREATE TABLE host_drains (
  name text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  CONSTRAINT host_drains_pkey PRIMARY KEY (name)
);

CREATE TABLE host_facts (
  host_id integer NOT NULL,
  told_at timestamp with time zone NOT NULL,
  facts jsonb NOT NULL,
  CONSTRAINT host_facts_pkey PRIMARY KEY (host_id)
) WITH (fillfactor = 50);

CREATE TABLE host_findings (
  org_id integer NOT NULL,
  target text NOT NULL,
  host_id integer NOT NULL,
  since timestamp with time zone NOT NULL,
  until timestamp with time zone NOT NULL,
  reason text NOT NULL,
  refuted_at timestamp with time zone,
  CONSTRAINT host_findings_pkey PRIMARY KEY (org_id, target, host_id)
);
ALTER TABLE host_findings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE host_registries (
  host_id integer NOT NULL,
  digest text NOT NULL,
  request_id bigint NOT NULL,
  verdict text NOT NULL,
  remarks text NOT NULL,
  judged_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT host_registries_pkey PRIMARY KEY (host_id),
  CONSTRAINT host_registries_verdict_check CHECK (verdict = ANY (ARRAY['loaded'::text, 'refused'::text, 'not_stored'::text]))
);

CREATE TABLE hosts (
  host_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  knows integer,
  CONSTRAINT hosts_pkey PRIMARY KEY (host_id)
);
CREATE TRIGGER hosts_version BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION check_host_version();

CREATE TABLE id_keys (
  is_only boolean DEFAULT true NOT NULL,
  key bytea NOT NULL,
  shown_until bigint NOT NULL,
  CONSTRAINT id_keys_pkey PRIMARY KEY (is_only),
  CONSTRAINT id_keys_is_only_check CHECK (is_only),
  CONSTRAINT id_keys_key_check CHECK (length(key) = 16)
);

CREATE TABLE installation (
  only_row boolean DEFAULT true NOT NULL,
  shards smallint DEFAULT 1 NOT NULL,
  application_role text,
  reader_role text,
  tenant_role text DEFAULT 'waybill_tenant'::text NOT NULL,
  CONSTRAINT installation_pkey PRIMARY KEY (only_row),
  CONSTRAINT installation_only_row_check CHECK (only_row),
  CONSTRAINT installation_shards_check CHECK (shards >= 1 AND shards <= 1024)
);

CREATE TABLE kept_defaults (
  name text NOT NULL,
  value text NOT NULL,
  CONSTRAINT kept_defaults_pkey PRIMARY KEY (name),
  CONSTRAINT kept_defaults_name_check CHECK (name = 'plugin_isolation'::text)
);

CREATE TABLE known_hosts (
  name text NOT NULL,
  process text NOT NULL,
  version text NOT NULL,
  heard_at timestamp with time zone NOT NULL,
  succeeded_at timestamp with time zone,
  CONSTRAINT known_hosts_pkey PRIMARY KEY (name)
) WITH (fillfactor = 50);

CREATE TABLE listed_intents (
  org_id integer NOT NULL,
  above bigint NOT NULL,
  upto bigint NOT NULL,
  oldest timestamp with time zone NOT NULL,
  newest timestamp with time zone NOT NULL,
  intents integer NOT NULL,
  targets text[] NOT NULL,
  ids bigint[] NOT NULL,
  target_places smallint[] NOT NULL,
  CONSTRAINT listed_intents_pkey PRIMARY KEY (org_id, above)
);
ALTER TABLE listed_intents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE listing (
  only_row boolean DEFAULT true NOT NULL,
  upto bigint NOT NULL,
  CONSTRAINT listing_pkey PRIMARY KEY (only_row),
  CONSTRAINT listing_only_row_check CHECK (only_row)
);

CREATE TABLE migration_progress (
  version integer NOT NULL,
  steps_done integer NOT NULL,
  cursor text NOT NULL,
  CONSTRAINT migration_progress_pkey PRIMARY KEY (version)
);

CREATE TABLE notification_events (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  event_no bigint NOT NULL,
  org_id integer NOT NULL,
  CONSTRAINT notification_events_pkey PRIMARY KEY (shard, delivery_id, event_no)
);
CREATE INDEX notification_events_numbers ON notification_events USING btree (event_no);
ALTER TABLE notification_events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE notification_replays (
  org_id integer NOT NULL,
  replayed_at timestamp with time zone NOT NULL,
  notification bigint NOT NULL
);
CREATE INDEX notification_replays_of ON notification_replays USING btree (org_id, replayed_at);
ALTER TABLE notification_replays ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE notification_windows (
  org_id integer NOT NULL,
  rule_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  latest bigint NOT NULL,
  CONSTRAINT notification_windows_pkey PRIMARY KEY (org_id, rule_id, channel_id)
) WITH (fillfactor = 50);
ALTER TABLE notification_windows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE notifications (
  shard smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id integer NOT NULL,
  rule_id uuid,
  channel_id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL,
  bytes integer NOT NULL,
  latest bigint NOT NULL,
  CONSTRAINT notifications_pkey PRIMARY KEY (shard, delivery_id)
);
CREATE INDEX notifications_newest ON notifications USING btree (org_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_channel ON notifications USING btree (org_id, channel_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_rule ON notifications USING btree (org_id, rule_id, created_at DESC, delivery_id DESC);
ALTER TABLE notifications ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE org_keys (
  org_id integer NOT NULL,
  key_id integer NOT NULL,
  master text NOT NULL,
  sealed bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT org_keys_pkey PRIMARY KEY (org_id, key_id),
  CONSTRAINT org_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES organisations(org_id)
);
ALTER TABLE org_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE organisations (
  org_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  disabled_at timestamp with time zone,
  weight integer DEFAULT 1 NOT NULL,
  CONSTRAINT organisations_pkey PRIMARY KEY (org_id),
  CONSTRAINT organisations_name_key UNIQUE (name),
  CONSTRAINT organisations_name_check CHECK (length(name) >= 1 AND length(name) <= 255),
  CONSTRAINT organisations_weight_check CHECK (weight >= 1 AND weight <= 1000)
);
ALTER TABLE organisations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE pipeline_given (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  step smallint NOT NULL,
  place smallint NOT NULL,
  org_id integer NOT NULL,
  input text,
  is_done boolean NOT NULL,
  result text,
  CONSTRAINT pipeline_given_pkey PRIMARY KEY (shard, submission_id, step, place)
);
ALTER TABLE pipeline_given ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE pipeline_moves (
  pipeline text NOT NULL,
  from_state text NOT NULL,
  to_state text NOT NULL,
  CONSTRAINT pipeline_moves_pkey PRIMARY KEY (pipeline, from_state, to_state)
);

CREATE TABLE pipeline_repairs (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  step smallint NOT NULL,
  org_id integer NOT NULL,
  from_state text NOT NULL,
  to_state text NOT NULL,
  made_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT pipeline_repairs_pkey PRIMARY KEY (shard, submission_id, step)
);
ALTER TABLE pipeline_repairs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE pipeline_steps (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  step smallint NOT NULL,
  org_id integer NOT NULL,
  pipeline text NOT NULL,
  state text NOT NULL,
  entered_at timestamp with time zone NOT NULL,
  left_at timestamp with time zone,
  actions smallint[] NOT NULL,
  first_action smallint NOT NULL,
  CONSTRAINT pipeline_steps_pkey PRIMARY KEY (shard, submission_id, step)
);
CREATE INDEX pipeline_steps_begun ON pipeline_steps USING btree (pipeline, entered_at) WHERE step = 1;
CREATE INDEX pipeline_steps_times ON pipeline_steps USING btree (org_id, pipeline, entered_at);
ALTER TABLE pipeline_steps ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE pipeline_submissions (
  shard smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id integer NOT NULL,
  version_id integer NOT NULL,
  pipeline text NOT NULL,
  state text NOT NULL,
  step smallint NOT NULL,
  next_action smallint DEFAULT 1 NOT NULL,
  routes integer[] NOT NULL,
  metadata text NOT NULL,
  reference text,
  parent bigint,
  created_at timestamp with time zone NOT NULL,
  blocked_at timestamp with time zone,
  ended_at timestamp with time zone,
  CONSTRAINT pipeline_submissions_pkey PRIMARY KEY (shard, submission_id),
  CONSTRAINT pipeline_submissions_version_id_fkey FOREIGN KEY (version_id) REFERENCES pipeline_versions(version_id),
  CONSTRAINT pipeline_submissions_metadata_check CHECK (metadata::json IS NOT NULL)
);
CREATE INDEX pipeline_submissions_blocked ON pipeline_submissions USING btree (shard, blocked_at, submission_id) WHERE blocked_at IS NOT NULL;
CREATE INDEX pipeline_submissions_ends ON pipeline_submissions USING btree (shard, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX pipeline_submissions_newest ON pipeline_submissions USING btree (org_id, submission_id DESC);
CREATE INDEX pipeline_submissions_references ON pipeline_submissions USING btree (org_id, reference, submission_id DESC) WHERE reference IS NOT NULL;
CREATE INDEX pipeline_submissions_states ON pipeline_submissions USING btree (org_id, pipeline, state, submission_id DESC);
CREATE INDEX pipeline_submissions_unfinished ON pipeline_submissions USING btree (pipeline, state) WHERE ended_at IS NULL;
ALTER TABLE pipeline_submissions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE pipeline_versions (
  version_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  pipeline text NOT NULL,
  number integer NOT NULL,
  hash bytea NOT NULL,
  definition text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT pipeline_versions_pkey PRIMARY KEY (version_id),
  CONSTRAINT pipeline_versions_hash_key UNIQUE (hash),
  CONSTRAINT pipeline_versions_pipeline_number_key UNIQUE (pipeline, number),
  CONSTRAINT pipeline_versions_number_check CHECK (number > 0),
  CONSTRAINT pipeline_versions_pipeline_check CHECK (length(pipeline) >= 1 AND length(pipeline) <= 64)
);
CREATE TRIGGER pipeline_versions_stay BEFORE UPDATE ON pipeline_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse('a version of a pipeline does not change');

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
ALTER TABLE provider_failures ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE rate_orders (
  org_id integer NOT NULL,
  target text NOT NULL,
  count integer NOT NULL,
  per bigint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  until timestamp with time zone,
  actor text NOT NULL,
  CONSTRAINT rate_orders_pkey PRIMARY KEY (org_id, target),
  CONSTRAINT rate_orders_count_check CHECK (count > 0),
  CONSTRAINT rate_orders_per_check CHECK (per > 0)
);
ALTER TABLE rate_orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

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
  expires_at timestamp with time zone,
  CONSTRAINT ready_pkey PRIMARY KEY (shard, delivery_id),
  CONSTRAINT ready_check CHECK (
CASE
    WHEN queued THEN lease_lost = 0 AND (status = ANY (ARRAY['due'::delivery_status, 'claimed'::delivery_status, 'open'::delivery_status]))
    ELSE lease_lost > 0 AND (status = ANY (ARRAY['due'::delivery_status, 'claimed'::delivery_status])) OR lease_lost = 0 AND status = 'waiting'::delivery_status
END) NOT VALID
) WITH (autovacuum_analyze_scale_factor = 0.0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, fillfactor = 45);
CREATE INDEX ready_due ON ready USING btree (shard, route_id, due_at, delivery_id) WHERE queued;
CREATE INDEX ready_expires ON ready USING btree (shard, expires_at) WHERE expires_at IS NOT NULL AND queued;
CREATE UNIQUE INDEX ready_of ON ready USING btree (shard, org_id, submission_id, action_order, replay) WHERE delivery_id <> submission_id;
CREATE INDEX ready_suspects ON ready USING btree (shard, due_at, delivery_id) WHERE lease_lost > 0;
ALTER TABLE ready ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TRIGGER ready_moves AFTER UPDATE ON ready FOR EACH ROW WHEN (new.status <> old.status AND NOT (old.status = 'waiting'::delivery_status AND new.status = 'due'::delivery_status OR old.status = 'open'::delivery_status AND (new.status = ANY (ARRAY['due'::delivery_status, 'claimed'::delivery_status])) OR old.status = 'due'::delivery_status AND new.status = 'claimed'::delivery_status OR old.status = 'claimed'::delivery_status AND new.status = 'due'::delivery_status)) EXECUTE FUNCTION refuse('a delivery cannot make this move');

CREATE TABLE registry_changes (
  change_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  version integer NOT NULL,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  host text NOT NULL,
  actor text NOT NULL,
  trigger text NOT NULL,
  added integer NOT NULL,
  changed integer NOT NULL,
  removed integer NOT NULL,
  CONSTRAINT registry_changes_pkey PRIMARY KEY (change_id),
  CONSTRAINT registry_changes_version_fkey FOREIGN KEY (version) REFERENCES registry_versions(version) ON DELETE CASCADE,
  CONSTRAINT registry_changes_trigger_check CHECK (trigger = ANY (ARRAY['start'::text, 'reload'::text]))
);

CREATE TABLE registry_files (
  version integer NOT NULL,
  path text NOT NULL,
  content bytea NOT NULL,
  CONSTRAINT registry_files_pkey PRIMARY KEY (version, path),
  CONSTRAINT registry_files_version_fkey FOREIGN KEY (version) REFERENCES registry_versions(version) ON DELETE CASCADE
);

CREATE TABLE registry_versions (
  version integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  digest text NOT NULL,
  stored_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT registry_versions_pkey PRIMARY KEY (version),
  CONSTRAINT registry_versions_digest_key UNIQUE (digest)
);

CREATE TABLE reload_requests (
  request_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  asked_by text NOT NULL,
  asked_at timestamp with time zone DEFAULT now() NOT NULL,
  hosts text[],
  CONSTRAINT reload_requests_pkey PRIMARY KEY (request_id)
);

CREATE TABLE replay_turns (
  org_id integer NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT replay_turns_pkey PRIMARY KEY (org_id)
);
ALTER TABLE replay_turns ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE restores (
  restored_to timestamp with time zone NOT NULL,
  fenced_at timestamp with time zone DEFAULT now() NOT NULL,
  actor text NOT NULL,
  CONSTRAINT restores_pkey PRIMARY KEY (restored_to)
);

CREATE TABLE rule_channels (
  org_id integer NOT NULL,
  rule_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT rule_channels_pkey PRIMARY KEY (org_id, rule_id, channel_id),
  CONSTRAINT rule_channels_org_id_channel_id_fkey FOREIGN KEY (org_id, channel_id) REFERENCES channels(org_id, channel_id),
  CONSTRAINT rule_channels_org_id_rule_id_fkey FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules(org_id, rule_id) ON DELETE CASCADE
);
CREATE INDEX rule_channels_of_channel ON rule_channels USING btree (org_id, channel_id);
ALTER TABLE rule_channels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE schema_functions (
  is_one boolean DEFAULT true NOT NULL,
  hash text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT schema_functions_pkey PRIMARY KEY (is_one),
  CONSTRAINT schema_functions_is_one_check CHECK (is_one)
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
  trace text,
  not_before timestamp with time zone,
  expires_at timestamp with time zone,
  producer text,
  CONSTRAINT submissions_pkey PRIMARY KEY (shard, id),
  CONSTRAINT submissions_shard_org_id_kind_client_ref_key UNIQUE (shard, org_id, kind, client_ref),
  CONSTRAINT submissions_check CHECK (pipeline <> 'intent'::text OR state = 'as_delivery'::text OR completed_at IS NOT NULL) NOT VALID
) WITH (fillfactor = 90);
CREATE INDEX submissions_forms_of ON submissions USING btree (org_id, target, created_at, id) WHERE kind = 'form'::text;
CREATE INDEX submissions_listed ON submissions USING btree (org_id, created_at, id) WHERE kind = ANY (ARRAY['form'::text, 'pipeline'::text]);
ALTER TABLE submissions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TRIGGER submissions_body BEFORE UPDATE OF body ON submissions FOR EACH ROW WHEN (new.body IS DISTINCT FROM old.body AND NOT (new.body IS NULL AND new.state = 'purged'::text)) EXECUTE FUNCTION refuse('what was handed in does not change');
CREATE TRIGGER submissions_ends BEFORE UPDATE ON submissions FOR EACH ROW WHEN (old.pipeline = 'intent'::text AND old.completed_at IS NOT NULL AND new.completed_at IS DISTINCT FROM old.completed_at) EXECUTE FUNCTION refuse('a submission that has ended does not change');
CREATE TRIGGER submissions_follow BEFORE UPDATE ON submissions FOR EACH ROW WHEN (old.state = 'as_delivery'::text AND (new.state <> old.state OR new.reason IS NOT NULL OR new.completed_at IS NOT NULL)) EXECUTE FUNCTION refuse('this submission''s state is its delivery''s');
CREATE TRIGGER submissions_moves BEFORE UPDATE ON submissions FOR EACH ROW WHEN (new.state <> old.state AND (old.pipeline <> 'intent'::text OR old.completed_at IS NOT NULL)) EXECUTE FUNCTION check_move();

CREATE TABLE target_outages (
  org_id integer NOT NULL,
  target text NOT NULL,
  until timestamp with time zone NOT NULL,
  reason text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  probe_until timestamp with time zone,
  probe_host integer,
  answered boolean DEFAULT false NOT NULL,
  CONSTRAINT target_outages_pkey PRIMARY KEY (org_id, target)
);
ALTER TABLE target_outages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE target_pauses (
  org_id integer NOT NULL,
  target text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  CONSTRAINT target_pauses_pkey PRIMARY KEY (org_id, target)
);
ALTER TABLE target_pauses ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE target_rates (
  org_id integer NOT NULL,
  target text NOT NULL,
  next_at timestamp with time zone NOT NULL,
  CONSTRAINT target_rates_pkey PRIMARY KEY (org_id, target)
);
ALTER TABLE target_rates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE TABLE token_uses (
  token_id bigint NOT NULL,
  used_at timestamp with time zone NOT NULL,
  CONSTRAINT token_uses_pkey PRIMARY KEY (token_id)
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
    c.lease_until AS claim_ends,
    r.expires_at
   FROM claims c
     CROSS JOIN LATERAL unnest(c.deliveries) one(delivery_id)
     JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed'::delivery_status;

CREATE VIEW heard_hosts WITH (security_invoker = true) AS
 WITH said AS (
         SELECT h.host_id,
            COALESCE(f.told_at,
                CASE
                    WHEN h.knows >= 37 THEN h.started_at
                    ELSE NULL::timestamp with time zone
                END, now()) AS at
           FROM hosts h
             LEFT JOIN host_facts f ON f.host_id = h.host_id
          WHERE NOT (EXISTS ( SELECT
                   FROM host_drains d
                  WHERE d.name = (f.facts ->> 'name'::text)))
        )
 SELECT said.host_id
   FROM said
  WHERE said.at >= (now() - '00:00:15'::interval) AND said.at <= (now() + '00:00:15'::interval) OR NOT (EXISTS ( SELECT
           FROM said said_1
          WHERE said_1.at >= (now() - '00:00:15'::interval) AND said_1.at <= (now() + '00:00:15'::interval))) AND said.at >= ((( SELECT max(said_1.at) AS max
           FROM said said_1)) - '00:00:15'::interval);

CREATE VIEW living_hosts WITH (security_invoker = true) AS
 SELECT l.objid::bigint::integer AS host_id,
    l.pid
   FROM pg_locks l
  WHERE l.locktype = 'advisory'::text AND l.objsubid = 2 AND l.granted AND l.classid = hashtext('waybill:'::text || "current_schema"()::text)::oid AND l.database = (( SELECT pg_database.oid
           FROM pg_database
          WHERE pg_database.datname = current_database()));

CREATE VIEW notification_states WITH (security_invoker = true) AS
 SELECT n.shard,
    n.delivery_id,
    n.org_id,
    n.rule_id,
    n.channel_id,
    n.created_at,
        CASE
            WHEN r.status = 'claimed'::delivery_status THEN 'processing'::text
            WHEN r.status IS NOT NULL THEN 'pending'::text
            WHEN d.status = 'accepted'::delivery_status THEN 'succeeded'::text
            WHEN d.status = 'cancelled'::delivery_status OR d.reason = 'channel_deleted'::text THEN 'cancelled'::text
            ELSE 'failed'::text
        END AS status,
    COALESCE(r.attempt_count, d.attempt_count, 0) AS attempt_count,
    COALESCE(r.due_at, d.ended_at) AS send_after,
        CASE
            WHEN d.status = 'accepted'::delivery_status THEN d.ended_at
            ELSE NULL::timestamp with time zone
        END AS delivered_at
   FROM notifications n
     LEFT JOIN ready r ON r.shard = n.shard AND r.delivery_id = n.latest
     LEFT JOIN deliveries d ON d.shard = n.shard AND d.id = n.latest;

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
        END AS completed_at,
    s.not_before,
    s.expires_at,
    s.producer
   FROM submissions s
     LEFT JOIN deliveries d ON s.state = 'as_delivery'::text AND d.shard = s.shard AND d.id = s.id
     LEFT JOIN deliveries o ON s.state = 'as_delivery'::text AND d.id IS NULL AND o.shard = s.shard AND o.org_id = s.org_id AND o.submission_id = s.id AND o.id <> o.submission_id AND o.action_order = 1 AND o.replay = 0
     LEFT JOIN LATERAL ( SELECT r.status,
            r.reason,
            r.ended_at
           FROM deliveries r
          WHERE (COALESCE(d.status, o.status) = ANY (ARRAY['rejected'::delivery_status, 'exhausted'::delivery_status])) AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
          ORDER BY r.replay DESC
         LIMIT 1) e ON true;

CREATE VIEW target_rests WITH (security_invoker = true) AS
 SELECT target_outages.ctid,
    target_outages.org_id,
    target_outages.target,
    target_outages.until,
    target_outages.reason,
    target_outages.since,
    target_outages.probe_until,
    target_outages.probe_host,
    target_outages.answered
   FROM target_outages;

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

CREATE FUNCTION adopt_events(org integer, events bigint[], debounce interval, max_bytes integer, max_wait interval)
 RETURNS TABLE(refused bigint, why text)
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
 SET lock_timeout TO '100ms'
AS $function$
DECLARE
  one  record;
  held uuid;
BEGIN
  FOR one IN SELECT e.event_no, e.rule_id FROM alert_events e
             WHERE e.org_id = org AND e.event_no = ANY (events) AND e.fanned_out_at IS NULL ORDER BY e.rule_id, e.event_no LOOP
    CONTINUE WHEN one.rule_id = held;
    BEGIN
      PERFORM fan_out(org, one.event_no, debounce, max_bytes, max_wait);
    EXCEPTION
      WHEN lock_not_available THEN
        held := one.rule_id;
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
      WHEN OTHERS THEN
        refused := one.event_no;
        why := SQLERRM;
        RETURN NEXT;
    END;
  END LOOP;
END $function$;

CREATE FUNCTION apply_access()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION archive_record(of_shard smallint, of_submission bigint)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  WITH s AS (SELECT * FROM submissions WHERE shard = of_shard AND id = of_submission),
  p AS (SELECT x.*, v.number FROM pipeline_submissions x JOIN pipeline_versions v USING (version_id)
        WHERE x.shard = of_shard AND x.submission_id = of_submission),
  d AS (
    SELECT x.id, x.action_order, x.replay, x.action_type, x.route_id, x.status::text, x.attempt_count, x.reason, x.provider_ref, x.result,
           x.ended_at
    FROM s JOIN deliveries x ON x.shard = of_shard AND x.org_id = s.org_id AND x.submission_id = s.id AND x.id <> x.submission_id
    UNION ALL
    SELECT x.delivery_id, x.action_order, x.replay, c.contract::json ->> 'actionType', x.route_id, x.status::text, x.attempt_count, NULL, NULL,
           NULL, NULL
    FROM s JOIN ready x ON x.shard = of_shard AND x.org_id = s.org_id AND x.submission_id = s.id AND x.delivery_id <> x.submission_id
           JOIN contract_snapshots c ON c.route_id = x.route_id)
  SELECT json_build_object(
    'submissionId', s.client_ref, 'pipeline', s.pipeline, 'version', p.number, 'state', s.state, 'payload', as_json(s.body),
    'metadata', p.metadata::json, 'reference', p.reference, 'createdAt', rfc3339(s.created_at), 'blockedAt', rfc3339(p.blocked_at),
    'endedAt', rfc3339(p.ended_at),
    'results', (
      SELECT coalesce(json_object_agg(r.state, r.result), '{}') FROM (
        SELECT DISTINCT ON (x.state) x.state, x.result FROM (
          SELECT t.state, t.step, d.action_order, d.replay, d.result::text::json AS result FROM pipeline_steps t
          JOIN d ON d.action_order >= t.first_action AND d.action_order < t.first_action + cardinality(t.actions)
          WHERE t.shard = of_shard AND t.submission_id = of_submission AND d.result IS NOT NULL
          UNION ALL
          SELECT t.state, t.step, t.first_action + g.place - 1, 32767, g.result::json FROM pipeline_given g
          JOIN pipeline_steps t ON t.shard = g.shard AND t.submission_id = g.submission_id AND t.step = g.step
          WHERE g.shard = of_shard AND g.submission_id = of_submission AND g.is_done AND g.result IS NOT NULL) x
        ORDER BY x.state, x.step DESC, x.action_order DESC, x.replay DESC) r),
    'steps', (
      SELECT coalesce(json_agg(json_build_object('state', t.state, 'enteredAt', rfc3339(t.entered_at), 'leftAt', rfc3339(t.left_at))
                               ORDER BY t.step), '[]')
      FROM pipeline_steps t WHERE t.shard = of_shard AND t.submission_id = of_submission),
    'deliveries', (
      SELECT coalesce(json_agg(json_build_object(
        'deliveryId', d.id::text, 'action', d.action_order, 'replay', d.replay, 'actionType', d.action_type,
        'target', c.contract::json ->> 'target', 'status', d.status, 'reason', d.reason, 'providerRef', d.provider_ref, 'result', d.result,
        'endedAt', rfc3339(d.ended_at), 'payload', (SELECT as_json(e.body) FROM edited_payloads e WHERE e.shard = of_shard AND e.delivery_id = d.id),
        'attempts', (
          SELECT coalesce(json_agg(json_build_object(
            'number', a.number, 'startedAt', rfc3339(a.started_at), 'finishedAt', rfc3339(a.finished_at), 'outcome', a.outcome,
            'reason', a.reason, 'error', a.error, 'code', a.code, 'answer', a.answer) ORDER BY a.number, a.started_at), '[]')
          FROM attempts a WHERE a.shard = of_shard AND a.delivery_id = d.id)) ORDER BY d.action_order, d.replay), '[]')
      FROM d JOIN contract_snapshots c USING (route_id)),
    'audit', (
      SELECT coalesce(json_agg(json_build_object(
        'fromState', a.from_state, 'toState', a.to_state, 'trigger', a.trigger, 'actor', a.actor, 'actorType', a.actor_type,
        'action', a.action, 'metadata', coalesce(a.metadata, '{}'), 'createdAt', rfc3339(a.created_at)) ORDER BY a.created_at, a.id), '[]')
      FROM audit_log a WHERE a.shard = of_shard AND a.submission_id = of_submission))
  FROM s, p
$function$;

CREATE FUNCTION archive_submissions(of_shard smallint, ids bigint[], ended interval, blocked interval)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  ours bigint[];
  free bigint[];
  sent bigint[];
BEGIN
  ours := ARRAY(SELECT s.id FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ids) ORDER BY s.id FOR UPDATE SKIP LOCKED);
  ours := ARRAY(SELECT p.submission_id FROM pipeline_submissions p
                WHERE p.shard = of_shard AND p.submission_id = ANY (ours) AND (p.ended_at < now() - ended OR p.blocked_at < now() - blocked)
                ORDER BY p.submission_id FOR UPDATE SKIP LOCKED);
  free := ARRAY(SELECT r.delivery_id FROM submissions s
                JOIN ready r ON r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id AND r.delivery_id <> r.submission_id
                WHERE s.shard = of_shard AND s.id = ANY (ours) AND r.status <> 'claimed' FOR UPDATE OF r SKIP LOCKED);
  ours := ARRAY(SELECT s.id FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ours) AND NOT EXISTS (
                  SELECT FROM ready r WHERE r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id
                                        AND r.delivery_id <> r.submission_id AND r.delivery_id <> ALL (free)));
  IF cardinality(ours) = 0 THEN
    RETURN 0;
  END IF;
  INSERT INTO archived_submissions (shard, submission_id, org_id, client_ref, pipeline, state, reference, metadata, created_at, blocked_at,
                                    ended_at, record)
  SELECT of_shard, s.id, s.org_id, s.client_ref, s.pipeline, s.state, p.reference, p.metadata, s.created_at, p.blocked_at, p.ended_at,
         archive_record(of_shard, s.id)::text
  FROM submissions s JOIN pipeline_submissions p ON p.shard = s.shard AND p.submission_id = s.id
  WHERE s.shard = of_shard AND s.id = ANY (ours);
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT of_shard, s.id, now(), s.org_id, 'submission_archived', s.state, s.state, 'archive', 'archive', 'system'
  FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ours);
  sent := ARRAY(SELECT d.id FROM submissions s
                JOIN deliveries d ON d.shard = of_shard AND d.org_id = s.org_id AND d.submission_id = s.id AND d.id <> d.submission_id
                WHERE s.shard = of_shard AND s.id = ANY (ours))
          || ARRAY(SELECT r.delivery_id FROM ready r WHERE r.shard = of_shard AND r.delivery_id = ANY (free) AND r.submission_id = ANY (ours));
  DELETE FROM artifacts WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM edited_payloads WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM dead_letters WHERE shard = of_shard AND id = ANY (sent);
  DELETE FROM dead_letter_edits WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM deliveries WHERE shard = of_shard AND id = ANY (sent);
  DELETE FROM ready WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM pipeline_given WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_repairs WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_steps WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_submissions WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM submissions WHERE shard = of_shard AND id = ANY (ours);
  RETURN cardinality(ours);
END $function$;

CREATE FUNCTION as_json(bytes bytea)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
BEGIN
  RETURN convert_from(bytes, 'UTF8')::json;
EXCEPTION WHEN data_exception THEN
  RETURN to_json(encode(bytes, 'hex'));
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
  IF EXISTS (SELECT FROM pipeline_repairs
             WHERE shard = NEW.shard AND submission_id = NEW.id AND from_state = OLD.state AND to_state = NEW.state) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'waybill: a submission of pipeline % cannot move from % to %', NEW.pipeline, OLD.state, NEW.state
    USING ERRCODE = 'check_violation';
END $function$;

CREATE FUNCTION delete_archived(age interval, rows integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  WITH gone AS (
    DELETE FROM archived_submissions a USING (
      SELECT shard, submission_id FROM archived_submissions WHERE archived_at < now() - age
      ORDER BY archived_at LIMIT rows FOR UPDATE SKIP LOCKED) old
    WHERE a.shard = old.shard AND a.submission_id = old.submission_id RETURNING 1)
  SELECT count(*) FROM gone
$function$;

CREATE FUNCTION delete_old(of_shard smallint, ids bigint[])
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  WITH old AS MATERIALIZED (
    SELECT s.id, s.org_id FROM submissions s
    WHERE s.shard = of_shard AND s.id = ANY (ids)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.delivery_id = s.id)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id
                                            AND r.delivery_id <> r.submission_id)
      AND NOT EXISTS (SELECT FROM dead_letters l WHERE l.shard = of_shard AND l.id = s.id AND l.replayed_at IS NULL)
      AND NOT EXISTS (SELECT FROM deliveries d JOIN dead_letters l ON l.shard = d.shard AND l.id = d.id
                      WHERE d.shard = of_shard AND d.org_id = s.org_id AND d.submission_id = s.id AND d.id <> d.submission_id
                        AND l.replayed_at IS NULL)),
  sent AS MATERIALIZED (
    SELECT id FROM old
    UNION ALL SELECT d.id FROM old o JOIN deliveries d ON d.shard = of_shard AND d.org_id = o.org_id AND d.submission_id = o.id
                                                        AND d.id <> d.submission_id),
  a AS (DELETE FROM artifacts x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  b AS (DELETE FROM edited_payloads x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  c AS (DELETE FROM notification_events x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  d AS (DELETE FROM notifications x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  l AS (DELETE FROM dead_letters x USING sent s WHERE x.shard = of_shard AND x.id = s.id),
  e AS (DELETE FROM deliveries x USING sent s WHERE x.shard = of_shard AND x.id = s.id),
  f AS (DELETE FROM submissions x USING old o WHERE x.shard = of_shard AND x.id = o.id)
  SELECT count(*) FROM old
$function$;

CREATE FUNCTION delete_old_events(age interval, rows integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  WITH gone AS (
    DELETE FROM alert_events WHERE event_no = ANY (ARRAY(
      SELECT event_no FROM alert_events e
      WHERE created_at < now() - age AND fanned_out_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM notification_events n WHERE n.event_no = e.event_no)
      ORDER BY created_at LIMIT rows)) RETURNING 1)
  SELECT count(*) FROM gone
$function$;

CREATE FUNCTION ends_of_action(status delivery_status, report jsonb, before jsonb)
 RETURNS TABLE(is_done boolean, recipients jsonb)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  WITH got AS (
    SELECT jsonb_agg(a.address ORDER BY a.place) AS names
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(report -> 'accepted') = 'array' THEN report -> 'accepted' ELSE '[]' END)
      WITH ORDINALITY AS a(address, place)
    WHERE jsonb_typeof(a.address) = 'string'
      AND NOT (jsonb_typeof(before -> 'accepted') IS NOT DISTINCT FROM 'array' AND before -> 'accepted' @> a.address)),
  lost AS (
    SELECT jsonb_agg(r.refusal -> 'address' ORDER BY r.place) AS names
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(report -> 'refused') = 'array' THEN report -> 'refused' ELSE '[]' END)
      WITH ORDINALITY AS r(refusal, place)
    WHERE jsonb_typeof(r.refusal -> 'address') = 'string')
  SELECT true, got.names FROM got WHERE status = 'accepted' OR got.names IS NOT NULL
  UNION ALL
  SELECT false, lost.names FROM lost WHERE status <> 'accepted'
$function$;

CREATE FUNCTION erase_rows(org integer, leaf regclass, name text, first_page bigint, pages integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  key  text;
  at   text;
  gone record;
BEGIN
  PERFORM FROM organisations WHERE org_id = org AND disabled_at IS NOT NULL FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'organisation % was enabled meanwhile: nothing more of it is erased', org USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  SELECT string_agg(format('t.%I', a.attname), ', ' ORDER BY k.place) INTO key
  FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(column_number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.column_number
  WHERE i.indrelid = leaf AND i.indisprimary;
  SELECT format('t.%I', a.attname) INTO at FROM pg_attribute a
  WHERE a.attrelid = leaf AND a.atttypid = 'timestamptz'::regtype AND NOT a.attisdropped ORDER BY a.attnotnull DESC, a.attnum LIMIT 1;
  PERFORM set_config('waybill.erased_org', org::text, true);
  EXECUTE format('WITH gone AS (DELETE FROM ONLY %s t WHERE t.ctid >= $2 AND t.ctid < $3 AND t.org_id = $1 RETURNING ROW(%s)::text AS key, %s AS at)'
                 ' SELECT count(*) AS rows, min(at) AS oldest, max(at) AS newest, string_agg(key, E''\n'' ORDER BY key) AS keys FROM gone',
                 leaf, coalesce(key, 't.*'), coalesce(at, 'NULL::timestamptz'))
  INTO gone USING org, format('(%s,0)', first_page)::tid, format('(%s,0)', first_page + pages)::tid;
  PERFORM set_config('waybill.erased_org', '', true);
  IF gone.rows > 0 THEN
    INSERT INTO erasures AS e (erased_org, table_name, rows, oldest, newest, digest)
    VALUES (org, name, gone.rows, gone.oldest, gone.newest, encode(sha256(convert_to(gone.keys, 'UTF8')), 'hex'))
    ON CONFLICT (erased_org, table_name) DO UPDATE SET
      rows = e.rows + excluded.rows, oldest = least(e.oldest, excluded.oldest), newest = greatest(e.newest, excluded.newest),
      digest = encode(sha256(convert_to(e.digest || excluded.digest, 'UTF8')), 'hex');
  END IF;
  RETURN gone.rows;
END $function$;

CREATE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer)
 RETURNS integer
 LANGUAGE sql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  SELECT fan_out(org, event, debounce, max_bytes, interval '10 minutes')
$function$;

CREATE FUNCTION fan_out(org integer, event bigint, debounce interval, max_bytes integer, max_wait interval)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
DECLARE
  one    alert_events;
  bound  record;
  taker  bigint;
  at     timestamptz;
  size   integer;
  number integer := 0;
BEGIN
  SELECT * INTO one FROM alert_events WHERE org_id = org AND event_no = event AND fanned_out_at IS NULL FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  size := octet_length(one.snapshot) + 1;  -- and a comma or bracket
  IF NOT one.suppressed AND EXISTS (SELECT FROM alert_rules r WHERE r.org_id = org AND r.rule_id = one.rule_id AND r.status = 'active') THEN
    FOR bound IN SELECT c.channel_id, c.shard, c.route_id FROM rule_channels b JOIN channels c USING (org_id, channel_id)
                 WHERE b.org_id = org AND b.rule_id = one.rule_id AND c.deleted_at IS NULL
                 ORDER BY c.channel_id LOOP
      -- Locked until the end: events of one rule and channel go one behind the other.
      INSERT INTO notification_windows AS w VALUES (org, one.rule_id, bound.channel_id, 0)
      ON CONFLICT (org_id, rule_id, channel_id) DO UPDATE SET latest = w.latest RETURNING w.latest INTO taker;
      at := clock_timestamp();
      -- The queue's row first, and what is counted only once it is ours: a claim may have been quicker.
      UPDATE ready r SET due_at = least(at + debounce, n.created_at + max_wait)
      FROM notifications n
      WHERE r.shard = bound.shard AND r.delivery_id = taker AND r.status = 'open'
        AND n.shard = bound.shard AND n.delivery_id = taker AND n.bytes + size <= max_bytes;
      IF FOUND THEN
        UPDATE notifications SET bytes = bytes + size WHERE shard = bound.shard AND delivery_id = taker;
      ELSE
        taker := nextval('object_ids') * 1024 + bound.shard;
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, trace)
        VALUES (bound.shard, taker, org, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || bound.channel_id, 'as_delivery', '', at, one.trace);
        INSERT INTO notifications VALUES (bound.shard, taker, org, one.rule_id, bound.channel_id, at, size + 1, taker);
        INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
        VALUES (bound.shard, taker, org, taker, 1, bound.route_id, at + least(debounce, max_wait), 'open');
        UPDATE notification_windows w SET latest = taker
        WHERE w.org_id = org AND w.rule_id = one.rule_id AND w.channel_id = bound.channel_id;
      END IF;
      INSERT INTO notification_events VALUES (bound.shard, taker, event, org);
      number := number + 1;
    END LOOP;
  END IF;
  UPDATE alert_events SET fanned_out_at = clock_timestamp() WHERE org_id = org AND event_no = event;
  RETURN number;
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

CREATE FUNCTION grant_tenant(tenant text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION guard_partition(one regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
BEGIN
  EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT'
                 ' EXECUTE FUNCTION refuse(''append-only; old partitions are dropped whole'')', one);
  EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER append_only', one);
  -- Others than the owner read a partition through its parent only, where the parent's policies hold.
  PERFORM guard_rows(one);
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

CREATE FUNCTION guard_rows(one regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION keep_policy(one regclass, policy name, grantee name, condition text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
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

CREATE FUNCTION notification_body(of_shard smallint, of_delivery bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  SELECT '[' || string_agg(e.snapshot, ',' ORDER BY e.event_no) || ']'
  FROM notification_events n JOIN alert_events e ON e.event_no = n.event_no
  WHERE n.shard = of_shard AND n.delivery_id = of_delivery
$function$;

CREATE FUNCTION raise_alert(org integer, what text, about text, words text)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
$function$;

CREATE FUNCTION record_channel_results(orgs integer[], channel_ids uuid[], hows text[], patience interval)
 RETURNS TABLE(disabled_channel uuid, why text, alerted boolean)
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
 SET lock_timeout TO '100ms'
AS $function$
BEGIN
  RETURN QUERY
  WITH result AS (
    SELECT t.org_id, t.channel_id, bool_or(t.how = 'gone') AS gone, bool_or(t.how = 'accepted') AS accepted
    FROM unnest(orgs, channel_ids, hows) AS t(org_id, channel_id, how) GROUP BY 1, 2 ORDER BY 1, 2),
  seen AS (
    SELECT c.org_id, c.channel_id, c.name, n.gone, n.accepted, c.failing_since,
           n.gone OR NOT n.accepted AND c.failing_since <= now() - patience AS hopeless
    FROM result n JOIN channels c USING (org_id, channel_id)
    WHERE c.deleted_at IS NULL AND c.disabled_at IS NULL
      AND (n.gone OR CASE WHEN n.accepted THEN c.failing_since IS NOT NULL
                          ELSE c.failing_since IS NULL OR c.failing_since <= now() - patience END)
    FOR NO KEY UPDATE OF c SKIP LOCKED),
  noted AS (
    UPDATE channels c SET failing_since = CASE WHEN s.accepted AND NOT s.gone THEN NULL ELSE coalesce(c.failing_since, now()) END,
           disabled_at = CASE WHEN s.hopeless THEN now() END,
           disabled_reason = CASE WHEN s.gone THEN 'its destination answered that it is gone'
                                  WHEN s.hopeless THEN 'every attempt has failed for too long' END
    FROM seen s WHERE c.org_id = s.org_id AND c.channel_id = s.channel_id
    RETURNING c.org_id, c.channel_id, c.name, c.disabled_reason)
  SELECT n.channel_id, n.disabled_reason,
         raise_alert(n.org_id, 'channel_disabled', n.channel_id::text, 'channel ' || n.name || ' was disabled: ' || n.disabled_reason) IS NOT NULL
  FROM noted n WHERE n.disabled_reason IS NOT NULL;
END $function$;

CREATE FUNCTION refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  erased    text := current_setting('waybill.erased_org', true);
  may_erase boolean;
BEGIN
  IF TG_OP = 'DELETE' AND erased ~ '^[0-9]{1,9}$' THEN
    IF TG_LEVEL = 'ROW' AND OLD.org_id = erased::integer THEN
      RETURN OLD;
    ELSIF TG_LEVEL = 'STATEMENT' THEN
      EXECUTE format('SELECT pg_has_role(current_user, c.relowner, ''USAGE'')'
                     ' AND EXISTS (SELECT FROM %I.organisations WHERE org_id = $1 AND disabled_at IS NOT NULL)'
                     ' FROM pg_catalog.pg_class c WHERE c.oid = $2', TG_TABLE_SCHEMA) INTO may_erase USING erased::integer, TG_RELID;
      IF may_erase THEN
        RETURN NULL;
      END IF;
    END IF;
  END IF;
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

CREATE FUNCTION rfc3339(t timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$function$;

CREATE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[])
 RETURNS TABLE(route_id integer, rate text)
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
 SET lock_timeout TO '100ms'
AS $function$
BEGIN
  RETURN QUERY SELECT * FROM serve_channels(host, orgs, channel_ids, routes, masters, NULL::interval);
END $function$;

CREATE FUNCTION serve_channels(host integer, orgs integer[], channel_ids uuid[], routes integer[], masters text[], lease interval)
 RETURNS TABLE(route_id integer, rate text)
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
 SET lock_timeout TO '100ms'
AS $function$
DECLARE
  one  integer;
  seen channel_hosts;
  at   timestamptz;
  ours integer[] := '{}';
BEGIN
  FOR one IN SELECT DISTINCT w.org_id FROM unnest(orgs) AS w(org_id)
             WHERE NOT EXISTS (SELECT FROM org_keys k WHERE k.org_id = w.org_id AND k.master <> ALL (masters)) ORDER BY 1 LOOP
    SELECT * INTO seen FROM channel_hosts c WHERE c.org_id = one;
    IF NOT FOUND THEN
      at := clock_timestamp();
      INSERT INTO channel_hosts AS c (org_id, host_id, renewed_at, lease_until)
      VALUES (one, host, CASE WHEN lease IS NOT NULL THEN at END, at + lease) ON CONFLICT DO NOTHING;
      SELECT * INTO seen FROM channel_hosts c WHERE c.org_id = one;
    END IF;
    at := clock_timestamp();
    -- Of its own it renews what the liveness session has not renewed for half a lease: the host was stopped.
    IF seen.host_id = host AND at BETWEEN seen.renewed_at AND seen.lease_until - (seen.lease_until - seen.renewed_at) / 2
       OR seen.host_id = host AND lease IS NULL THEN
      ours := ours || one;
    ELSIF seen.host_id = host OR NOT at BETWEEN seen.renewed_at AND seen.lease_until
          OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = seen.host_id) THEN
      UPDATE channel_hosts c SET host_id = host, renewed_at = CASE WHEN lease IS NOT NULL THEN at END, lease_until = at + lease
      WHERE c.org_id = one AND c.host_id = seen.host_id
        AND (c.host_id = host OR c.renewed_at IS NOT DISTINCT FROM seen.renewed_at);  -- a renewal that came between counts
      IF FOUND THEN
        ours := ours || one;
      END IF;
    END IF;
  END LOOP;
  RETURN QUERY
    SELECT s.route_id, c.config::jsonb ->> 'rate' FROM unnest(orgs, channel_ids, routes) AS s(org_id, channel_id, route_id)
    JOIN channels c ON c.org_id = s.org_id AND c.channel_id = s.channel_id
    WHERE s.org_id = ANY (ours);
END $function$;

CREATE FUNCTION submission_writers()
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
AS $function$
  SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'submissions'::regclass AND granted AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
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
  FOR one IN SELECT oid FROM pg_type
             WHERE typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND typtype IN ('e', 'd') LOOP
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
  since := least(greatest(since, at - apart * (burst - 1)), at + apart);
  granted := least(wanted, CASE WHEN since > at THEN 0 ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM apart))::integer + 1 END);
  since := since + apart * granted;
  UPDATE target_rates SET next_at = since WHERE org_id = org AND target = name;
  wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
END $function$;

CREATE FUNCTION take_permits(orgs integer[], names text[], wanted integer[], aparts interval[], bursts integer[])
 RETURNS TABLE(place integer, granted integer, wait bigint)
 LANGUAGE plpgsql
 SET search_path TO 'waybill', 'pg_temp'
 SET lock_timeout TO '100ms'
AS $function$
DECLARE
  begun    timestamptz := clock_timestamp();
  may_wait boolean := true;
  one      record;
  at       timestamptz;
  since    timestamptz;
BEGIN
  BEGIN
    INSERT INTO target_rates SELECT w.org, w.name, timestamptz 'epoch' FROM unnest(orgs, names) AS w(org, name)
    WHERE NOT EXISTS (SELECT FROM target_rates r WHERE r.org_id = w.org AND r.target = w.name)
    GROUP BY 1, 2 ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  EXCEPTION WHEN lock_not_available THEN
    may_wait := false;
  END;
  FOR one IN SELECT w.* FROM unnest(orgs, names, wanted, aparts, bursts) WITH ORDINALITY AS w(org, name, most, apart, burst, n)
             ORDER BY w.org, w.name, w.n LOOP
    SELECT r.next_at INTO since FROM target_rates r WHERE r.org_id = one.org AND r.target = one.name FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND may_wait THEN
      BEGIN
        SELECT r.next_at INTO since FROM target_rates r WHERE r.org_id = one.org AND r.target = one.name FOR UPDATE;
      EXCEPTION WHEN lock_not_available THEN
        since := NULL;
      END;
      may_wait := since IS NOT NULL AND clock_timestamp() < begun + interval '100 milliseconds';
    END IF;
    place := one.n;
    IF since IS NULL THEN
      granted := 0;
      wait := 100000;
    ELSE
      at := clock_timestamp();  -- read once the row is ours
      since := least(greatest(since, at - one.apart * (one.burst - 1)), at + one.apart);
      granted := least(one.most, CASE WHEN since > at THEN 0
                                      ELSE floor(extract(epoch FROM at - since) / extract(epoch FROM one.apart))::integer + 1 END);
      since := since + one.apart * granted;
      UPDATE target_rates r SET next_at = since WHERE r.org_id = one.org AND r.target = one.name;
      wait := greatest(0, (extract(epoch FROM since - at) * 1000000)::bigint);
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$;

CREATE FUNCTION tenant_org()
 RETURNS integer
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN current_setting('waybill.org', true) ~ '^[0-9]{1,9}$' THEN current_setting('waybill.org', true)::integer END
$function$;

CREATE FUNCTION tenant_problem(tenant text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'waybill', 'pg_temp'
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
