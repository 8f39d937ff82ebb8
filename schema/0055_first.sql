-- Runs beside: 27
--
-- The first schema of 1.0: what the migrations 1 to 55 of before it made. A database of theirs at version 55 has the same tables,
-- functions, rights and fixed rows (docs/decisions/0062-online-migrations.md tells how that was proved), and goes on with 56.
--
-- Applied in one transaction, on a database without tables of Waybill. Tables of the hot path carry the shard first in every key.
--
-- Locks: none; there is nothing yet.

CREATE TYPE delivery_status AS ENUM
  ('waiting', 'open', 'due', 'claimed', 'accepted', 'rejected', 'exhausted', 'deferred', 'cancelled');
CREATE SEQUENCE object_ids;  -- an id is this number times 1,024 plus the shard

CREATE TABLE installation (
  only_row         boolean NOT NULL DEFAULT true,
  shards           smallint NOT NULL DEFAULT 1,
  application_role text,  -- null: none were set up
  reader_role      text,  -- null: none were set up
  tenant_role      text NOT NULL DEFAULT 'waybill_tenant',
  PRIMARY KEY (only_row),
  CHECK (only_row),
  CHECK (shards BETWEEN 1 AND 1024)
);

CREATE TABLE organisations (
  org_id      integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name        text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  disabled_at timestamptz,  -- nothing new comes in for it since then
  weight      integer NOT NULL DEFAULT 1,
  PRIMARY KEY (org_id),
  UNIQUE (name),
  CHECK (length(name) BETWEEN 1 AND 255),
  CHECK (weight BETWEEN 1 AND 1000)
);

CREATE TABLE api_tokens (
  token_id     bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id       integer NOT NULL,
  name         text NOT NULL,
  role         text NOT NULL,
  hash         bytea NOT NULL,  -- SHA-256 of the token; the token itself is shown once and kept nowhere
  created_at   timestamptz NOT NULL DEFAULT now(),
  revoked_at   timestamptz,
  public_id    text NOT NULL DEFAULT "left"(replace(gen_random_uuid()::text, '-', ''), 12),  -- in the token, and in the log
  operates     boolean NOT NULL DEFAULT false,  -- its role is `operator`
  expires_at   timestamptz,
  only_targets text[],  -- null: all
  only_paths   text[],
  certificate  boolean NOT NULL DEFAULT false,  -- the hash is that of a client's certificate
  PRIMARY KEY (token_id),
  UNIQUE (hash),
  UNIQUE (public_id),
  FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CHECK (NOT operates OR org_id = 1 AND role = 'owner'),
  CHECK (length(name) BETWEEN 1 AND 255),
  CHECK (cardinality(only_paths) > 0),
  CHECK (cardinality(only_targets) > 0),
  CHECK (role IN ('member', 'admin', 'owner'))
);
CREATE UNIQUE INDEX api_tokens_live_name ON api_tokens (org_id, name) WHERE revoked_at IS NULL;

-- A target's contract as resolved at submission time, once per organisation and content. A route is what the claim goes by.
CREATE TABLE contract_snapshots (
  route_id   integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id     integer NOT NULL,
  hash       bytea NOT NULL,
  contract   text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (route_id),
  UNIQUE (org_id, hash),
  FOREIGN KEY (org_id) REFERENCES organisations(org_id)
);

CREATE TABLE submissions (
  shard        smallint NOT NULL,
  id           bigint NOT NULL,
  org_id       integer NOT NULL,
  kind         text NOT NULL,
  client_ref   text NOT NULL,
  pipeline     text NOT NULL,
  target       text NOT NULL,
  state        text NOT NULL,
  reason       text,
  payload_hash bytea NOT NULL,
  created_at   timestamptz NOT NULL,
  completed_at timestamptz,
  body         bytea,  -- null: it has none, or it was erased
  PRIMARY KEY (shard, id),
  UNIQUE (shard, org_id, kind, client_ref)
) WITH (fillfactor = 90);
CREATE INDEX submissions_forms_of ON submissions (org_id, target, created_at, id) WHERE kind = 'form';
CREATE INDEX submissions_listed ON submissions (org_id, created_at, id) WHERE kind IN ('form', 'pipeline');

-- Deliveries that have ended: a row is written once, and never changed.
CREATE TABLE deliveries (
  shard         smallint NOT NULL,
  id            bigint NOT NULL,
  org_id        integer NOT NULL,
  submission_id bigint NOT NULL,
  action_order  smallint NOT NULL,
  action_type   text NOT NULL,
  route_id      integer NOT NULL,
  status        delivery_status NOT NULL,  -- how it ended; before that it stands in `ready`
  attempt_count integer NOT NULL DEFAULT 0,
  reason        text,
  provider_ref  text,
  result        jsonb,
  ended_at      timestamptz NOT NULL,
  replay        smallint NOT NULL DEFAULT 0,  -- A replay is a delivery of its own: ends have no way out.
  PRIMARY KEY (shard, id),
  CONSTRAINT deliveries_ended CHECK (status IN ('accepted', 'rejected', 'exhausted', 'deferred', 'cancelled'))
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX deliveries_of ON deliveries (shard, org_id, submission_id, action_order, replay) WHERE id <> submission_id;

-- The queue: one small row for each unfinished delivery, and the only table that a claim writes.
CREATE TABLE ready (
  shard         smallint NOT NULL,
  action_order  smallint NOT NULL,
  org_id        integer NOT NULL,
  delivery_id   bigint NOT NULL,
  submission_id bigint NOT NULL,
  due_at        timestamptz NOT NULL,
  route_id      integer NOT NULL,
  attempt_count integer NOT NULL DEFAULT 0,  -- attempts that have ended, seen or unseen: the only source of attempt numbers
  claim_token   bigint,
  claimed_at    timestamptz,
  lease_until   timestamptz,
  claimed_by    integer,
  lease_lost    smallint NOT NULL DEFAULT 0,
  maybe_sent    boolean NOT NULL DEFAULT false,
  status        delivery_status NOT NULL,
  composed      boolean NOT NULL DEFAULT false,  -- there is an artefact to be sent
  progress      text,  -- JSON: what a transient attempt leaves for the next one, such as which recipients have a mail already
  edited        boolean NOT NULL DEFAULT false,  -- there is an edited payload to be sent
  -- A claim changes a row's status and token. Neither may be in an index, or each claim would write the row's index entries again (a
  -- change of unindexed columns stays on its page). `queued` is what the index goes by instead; it does not change with a claim.
  queued        boolean NOT NULL DEFAULT true,
  uncounted     integer NOT NULL DEFAULT 0,  -- of attempt_count
  replay        smallint NOT NULL DEFAULT 0,  -- 0: not a replay
  PRIMARY KEY (shard, delivery_id)
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.0,
        autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0, fillfactor = 45);
CREATE INDEX ready_due ON ready (shard, route_id, due_at, delivery_id) WHERE queued;
-- The unfinished deliveries of a submission. An only delivery has its submission's id and is found by it.
CREATE UNIQUE INDEX ready_of ON ready (shard, org_id, submission_id, action_order, replay) WHERE delivery_id <> submission_id;
-- Neither the status nor what else a claim changes may be in it (see `queued`).
CREATE INDEX ready_suspects ON ready (shard, due_at, delivery_id) WHERE lease_lost > 0;

-- Who has what: one row for each claim, so that the deliveries of a host that died, or was too slow, are found without an index that
-- every claim would write. A row goes when the claim's last delivery is settled; one that is left behind goes with its lease.
CREATE TABLE claims (
  shard       smallint NOT NULL,
  token       bigint NOT NULL,
  host_id     integer NOT NULL,
  lease_until timestamptz NOT NULL,
  deliveries  bigint[] NOT NULL,
  PRIMARY KEY (shard, token)
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE claims ALTER COLUMN deliveries SET STORAGE EXTERNAL;

CREATE TABLE attempts (
  shard        smallint NOT NULL,
  delivery_id  bigint NOT NULL,
  number       integer NOT NULL,
  org_id       integer NOT NULL,
  started_at   timestamptz NOT NULL,
  finished_at  timestamptz,  -- null: nobody saw its end
  outcome      text NOT NULL,
  reason       text,
  error        text,
  code         integer,
  provider_ref text,
  counts       boolean NOT NULL DEFAULT true,
  answer       jsonb,  -- What came back over HTTP, of attempts to reach channels.
  maybe_sent   boolean,  -- Whether the receiver may have what nobody saw it take. Null: an attempt of a host that did not record it.
  PRIMARY KEY (shard, delivery_id, number, started_at),
  CHECK (outcome IN ('accepted', 'rejected', 'deferred', 'error', 'unknown'))
) PARTITION BY RANGE (started_at);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

CREATE TABLE audit_log (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  created_at    timestamptz NOT NULL,
  id            bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  org_id        integer NOT NULL,
  delivery_id   bigint,
  action        text NOT NULL,
  from_state    text,
  to_state      text,
  trigger       text NOT NULL,
  actor         text NOT NULL,
  actor_type    text NOT NULL,
  metadata      jsonb,
  PRIMARY KEY (shard, submission_id, created_at, id),
  CHECK (actor_type IN ('system', 'worker', 'admin'))
) PARTITION BY RANGE (created_at);
CREATE TABLE audit_log_default PARTITION OF audit_log DEFAULT;

-- What each role may do with each table. A migration that makes a table adds its row here; a test walks all tables.
CREATE TABLE access_rules (
  table_name  text NOT NULL,
  application text NOT NULL,  -- privileges, as GRANT takes them
  reader      text,  -- null: none
  seen_with   text,  -- the reader sees a row only where it sees this
  -- `tenant`: what the tenant role may do with the table; null: nothing. It needs an org_id, or must say the same to every organisation.
  tenant      text,
  PRIMARY KEY (table_name),
  CHECK (seen_with IN ('itself', 'submission', 'delivery'))
);

-- How an action type's ends are called in the audit and on the form surface. A type that is not here is called by its own name.
CREATE TABLE action_words (
  action_type  text NOT NULL,
  done         text NOT NULL,
  failed       text NOT NULL,
  status_field text,  -- of GET /v1/submissions/{id}: how the last such action ended
  ref_field    text,  -- and the receiver's id of it
  PRIMARY KEY (action_type)
);

CREATE TABLE alert_rules (
  org_id     integer NOT NULL,
  rule_id    uuid NOT NULL DEFAULT gen_random_uuid(),
  name       text NOT NULL,
  status     text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  PRIMARY KEY (org_id, rule_id),
  FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  CHECK (length(name) BETWEEN 1 AND 255),
  CHECK (status IN ('draft', 'active', 'disabled'))
);
CREATE INDEX alert_rules_newest ON alert_rules (org_id, created_at DESC, rule_id DESC) WHERE deleted_at IS NULL;

-- Another program may insert here as well: (org_id, rule_id, event_id, snapshot). What is not fanned out is found by a scan.
CREATE TABLE alert_events (
  org_id        integer NOT NULL,
  rule_id       uuid NOT NULL,
  event_id      text NOT NULL,
  event_no      bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  snapshot      text NOT NULL,
  suppressed    boolean NOT NULL DEFAULT false,
  created_at    timestamptz NOT NULL DEFAULT now(),
  fanned_out_at timestamptz,
  PRIMARY KEY (org_id, rule_id, event_id),
  FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules(org_id, rule_id),
  CHECK (length(event_id) BETWEEN 1 AND 255),
  CHECK (snapshot::json IS NOT NULL)
);
CREATE INDEX alert_events_ages ON alert_events (created_at);
CREATE UNIQUE INDEX alert_events_numbers ON alert_events (event_no);
CREATE INDEX alert_events_turns ON alert_events (org_id, event_no) WHERE fanned_out_at IS NULL;

-- What somebody ought to know: one row an incident, counted, told to the alert target when `count` has outgrown `told`.
CREATE TABLE alerts (
  org_id             integer NOT NULL,
  incident           text NOT NULL,
  kind               text NOT NULL,
  message            text NOT NULL,  -- of the latest
  count              bigint NOT NULL DEFAULT 1,
  told               bigint NOT NULL DEFAULT 0,
  first_at           timestamptz NOT NULL DEFAULT now(),
  last_at            timestamptz NOT NULL DEFAULT now(),
  told_at            timestamptz,
  counted            bigint NOT NULL DEFAULT 0,  -- of `count`: what a host's metrics have
  -- A telling is what one message says: reserved first, then handed in, then marked as told. What a host leaves half done another one
  -- finishes, under the same reference and with the same counts.
  telling            text,  -- reference of the message under way
  telling_count      bigint,  -- what that message says
  summed             boolean NOT NULL DEFAULT false,  -- the latest message was a summary of many incidents
  summed_with_others boolean NOT NULL DEFAULT false,
  PRIMARY KEY (org_id, incident),
  CHECK (kind IN ('channel_disabled', 'dead_letter', 'failed_messages', 'infected_attachment', 'old_secret', 'pipeline_stuck', 'plugin_crash',
                  'plugin_hung', 'plugin_switched_off', 'provider_failures', 'retention_expired', 'secret_locked', 'stuck'))
);

-- Pipelines' submissions that ended, or failed and were left, long ago: out of the tables that work is done in.
CREATE TABLE archived_submissions (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id        integer NOT NULL,
  client_ref    text NOT NULL,
  pipeline      text NOT NULL,
  state         text NOT NULL,
  reference     text,
  metadata      text NOT NULL,
  created_at    timestamptz NOT NULL,
  blocked_at    timestamptz,
  ended_at      timestamptz,
  archived_at   timestamptz NOT NULL DEFAULT now(),
  record        text NOT NULL,
  PRIMARY KEY (shard, submission_id),
  CHECK (metadata::json IS NOT NULL),
  CHECK (record::json IS NOT NULL)
);
CREATE INDEX archived_submissions_ages ON archived_submissions (archived_at);
CREATE INDEX archived_submissions_names ON archived_submissions (org_id, client_ref);
CREATE INDEX archived_submissions_newest ON archived_submissions (org_id, archived_at DESC, submission_id DESC);
CREATE INDEX archived_submissions_references ON archived_submissions (org_id, reference) WHERE reference IS NOT NULL;

-- What a plugin composed of a delivery, once, before its first send: the same bytes in every attempt.
CREATE TABLE artifacts (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  media_type  text NOT NULL,
  body        bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, delivery_id),
  CHECK (length(media_type) BETWEEN 1 AND 255)
);

-- What is attached to a form's submission. Not sharded by key: a scan result comes with the attachment's id alone.
CREATE TABLE attachments (
  org_id        integer NOT NULL,
  attachment_id text NOT NULL,
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  "position"    smallint NOT NULL,
  name          text NOT NULL,
  content_type  text NOT NULL,
  size          bigint NOT NULL,
  object_uri    text NOT NULL,
  scan          text NOT NULL DEFAULT 'pending',
  scanned_at    timestamptz,
  PRIMARY KEY (org_id, attachment_id),
  CHECK (scan IN ('pending', 'clean', 'infected')),
  CHECK (size >= 0)
);
CREATE INDEX attachments_of ON attachments (shard, submission_id, "position");
CREATE INDEX attachments_pending ON attachments (shard, submission_id) WHERE scan = 'pending';

-- Which host sends to the channels of an organisation, until it says that it has nothing more under way or is no longer registered.
CREATE TABLE channel_hosts (
  org_id      integer NOT NULL,
  host_id     integer NOT NULL,  -- of a host that may have been rescued since
  renewed_at  timestamptz,  -- null: by a host of an older version, until it is dead
  lease_until timestamptz,  -- from then on another host may serve the organisation's channels
  PRIMARY KEY (org_id)
);

CREATE TABLE channel_types (
  type text NOT NULL,
  PRIMARY KEY (type)
);

-- The keys that an organisation's secrets are sealed with, each sealed itself with a master key that only hosts have.
CREATE TABLE org_keys (
  org_id     integer NOT NULL,
  key_id     integer NOT NULL,
  master     text NOT NULL,  -- which master key: a part of its hash
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, key_id),
  FOREIGN KEY (org_id) REFERENCES organisations(org_id)
);

CREATE TABLE channels (
  org_id           integer NOT NULL,
  channel_id       uuid NOT NULL DEFAULT gen_random_uuid(),
  shard            smallint NOT NULL,  -- of its deliveries
  route_id         integer NOT NULL,
  name             text NOT NULL,
  type             text NOT NULL,
  config           text NOT NULL,
  key_id           integer NOT NULL,
  secret           bytea NOT NULL,  -- sealed, as is the next
  secondary_secret bytea,  -- the secret before the last rotation, until it is cleared
  rotated_at       timestamptz,
  failing_since    timestamptz,  -- null: its latest attempt was taken
  disabled_at      timestamptz,
  disabled_reason  text,
  deleted_at       timestamptz,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, channel_id),
  FOREIGN KEY (org_id) REFERENCES organisations(org_id),
  FOREIGN KEY (org_id, key_id) REFERENCES org_keys(org_id, key_id),
  FOREIGN KEY (route_id) REFERENCES contract_snapshots(route_id),
  FOREIGN KEY (type) REFERENCES channel_types(type),
  CHECK (config::jsonb ? 'url'),
  CHECK (length(name) BETWEEN 1 AND 255)
);
CREATE UNIQUE INDEX channels_names ON channels (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX channels_rotated ON channels (rotated_at) WHERE secondary_secret IS NOT NULL;

-- Hosts that reach nothing while others do: they claim nothing.
CREATE TABLE cut_off_hosts (
  host_id integer NOT NULL,
  since   timestamptz NOT NULL,
  target  text NOT NULL,  -- that it cannot reach and another host does
  PRIMARY KEY (host_id)
);

-- Before and after of each edit. The audit names an edit and holds its hashes; the values go when the submission is purged.
CREATE TABLE dead_letter_edits (
  id             bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  shard          smallint NOT NULL,
  dead_letter_id bigint NOT NULL,
  submission_id  bigint NOT NULL,
  org_id         integer NOT NULL,
  edited_at      timestamptz NOT NULL DEFAULT now(),
  actor          text NOT NULL,
  field          text NOT NULL,
  before         text NOT NULL,
  after          text NOT NULL,
  PRIMARY KEY (id),
  CHECK (field IN ('fields', 'destination'))
);
CREATE INDEX dead_letter_edits_of ON dead_letter_edits (shard, submission_id);

-- A delivery that ended without its receiver having taken it, for people to look at.
CREATE TABLE dead_letters (
  shard           smallint NOT NULL,
  id              bigint NOT NULL,  -- of the delivery
  org_id          integer NOT NULL,
  submission_id   bigint NOT NULL,
  kind            text NOT NULL,
  client_ref      text NOT NULL,
  target          text NOT NULL,  -- of the submission: the form's id
  action_order    smallint NOT NULL,
  action_type     text NOT NULL,
  reason          text NOT NULL,
  died_at         timestamptz NOT NULL,
  payload         bytea,  -- as edited since; null: as handed in
  destination     text,  -- JSON, as edited since; null: as the contract has it
  replayed_at     timestamptz,
  replayed_by     text,
  replay_delivery bigint,
  PRIMARY KEY (shard, id)
);
CREATE INDEX dead_letters_by_time ON dead_letters (org_id, died_at DESC, id DESC);
CREATE INDEX dead_letters_waiting ON dead_letters (org_id) WHERE replayed_at IS NULL;

-- Each failure once, in the first digest that saw it. A digest's rows come before it does.
CREATE TABLE digest_failures (
  org_id        integer NOT NULL,  -- of the submission; of an unknown one, the first organisation
  identity      bytea NOT NULL,  -- a hash of what tells it from others
  digest_id     bigint NOT NULL,
  target        text NOT NULL,
  action_type   text NOT NULL,
  status        text NOT NULL,  -- the provider's word
  detail        text NOT NULL,
  failed_at     timestamptz,
  provider_ref  text NOT NULL,
  reference     text NOT NULL,  -- ours, as the provider repeats it
  shard         smallint,
  submission_id bigint,  -- null: it is of no submission that is known
  client_ref    text,
  PRIMARY KEY (org_id, identity)
);
CREATE INDEX digest_failures_of ON digest_failures (digest_id, org_id);

-- What an admin made of a payload, for one replayed delivery.
CREATE TABLE edited_payloads (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  body        bytea NOT NULL,
  PRIMARY KEY (shard, delivery_id)
);

-- The schedule of failure checks that each host has. While they differ, that of the newest host holds.
CREATE TABLE failure_check_hosts (
  host_id  integer NOT NULL,  -- of a host that may be gone
  schedule text NOT NULL,  -- with its time zone
  PRIMARY KEY (host_id)
);

-- Since when each target's failures are known.
CREATE TABLE failure_check_targets (
  target        text NOT NULL,
  checked_until timestamptz NOT NULL,  -- before the latest complete list was asked for
  PRIMARY KEY (target)
);

-- The check that is planned, and the one that is under way, of the whole installation.
CREATE TABLE failure_checks (
  only_row    boolean NOT NULL DEFAULT true,
  schedule    text NOT NULL,  -- with its time zone, as the hosts that planned it have it
  next_at     timestamptz,  -- the next tick of the schedule; null: it has none
  last_tick   timestamptz,  -- the latest tick that a check was begun for
  tick        timestamptz,  -- what the check that is not over yet was begun for; null: there is none
  by_hand     boolean NOT NULL DEFAULT false,
  begun_at    timestamptz,
  digest_id   bigint,  -- of the digest that it makes
  token       bigint,  -- fencing token of who does it
  host        text,
  lease_until timestamptz,  -- from then on another one may go on with it
  tries       integer NOT NULL DEFAULT 0,  -- begun since one ended in good order
  PRIMARY KEY (only_row),
  CHECK (only_row)
);

CREATE TABLE failure_digests (
  org_id      integer NOT NULL,
  digest_id   bigint NOT NULL,
  tick        timestamptz NOT NULL,
  by_hand     boolean NOT NULL,
  begun_at    timestamptz NOT NULL,
  finished_at timestamptz NOT NULL DEFAULT now(),
  targets     text[] NOT NULL,  -- whose lists were read to their end
  problems    text[] NOT NULL,  -- what of the others was not
  failures    bigint NOT NULL,
  by_status   text NOT NULL,
  PRIMARY KEY (org_id, digest_id),
  CHECK (by_status::json IS NOT NULL)
);
CREATE INDEX failure_digests_ages ON failure_digests (finished_at);

CREATE TABLE forms (
  form_id   text NOT NULL,
  name      text NOT NULL,
  loaded_at timestamptz NOT NULL DEFAULT now(),
  further   text NOT NULL DEFAULT '',  -- JSON (host/domain/form.h, further_terms); '': none
  PRIMARY KEY (form_id)
);

CREATE TABLE form_actions (
  form_id           text NOT NULL,
  action_order      smallint NOT NULL,
  action_type       text NOT NULL,
  destination       text NOT NULL,
  template_id       text,
  subject_template  text,
  happyfox_category text,
  PRIMARY KEY (form_id, action_order),
  FOREIGN KEY (form_id) REFERENCES forms(form_id) ON DELETE CASCADE
);

-- What a submission of a form has beside the rest of its kind.
CREATE TABLE form_submissions (
  shard                smallint NOT NULL,
  submission_id        bigint NOT NULL,
  org_id               integer NOT NULL,
  finalized_at         timestamptz,
  processing_since     timestamptz,  -- null in every state but processing
  retention_expires_at timestamptz NOT NULL,
  purged_at            timestamptz,
  PRIMARY KEY (shard, submission_id)
);
CREATE INDEX form_submissions_kept ON form_submissions (shard, retention_expires_at) WHERE purged_at IS NULL;
CREATE INDEX form_submissions_processing ON form_submissions (shard, processing_since) WHERE processing_since IS NOT NULL;

-- What each host says of itself about once a second, for whoever asks why a delivery does not move. Not in `hosts`: a new version of a row
-- there is a sign of life. It stays when a host comes back after a lost session.
CREATE TABLE host_facts (
  host_id integer NOT NULL,
  told_at timestamptz NOT NULL,
  facts   jsonb NOT NULL,  -- host/app/host_facts.cpp writes them; a reader takes what it knows
  PRIMARY KEY (host_id)
) WITH (fillfactor = 50);

-- What one host cannot reach is that host's finding, and its cooldown is that host's alone, until another host confirms it.
CREATE TABLE host_findings (
  org_id     integer NOT NULL,
  target     text NOT NULL,  -- as in target_outages
  host_id    integer NOT NULL,  -- of a host that may be gone
  since      timestamptz NOT NULL,
  until      timestamptz NOT NULL,  -- the host sends nothing there before
  reason     text NOT NULL,
  refuted_at timestamptz,  -- when another host had had an answer from there since
  PRIMARY KEY (org_id, target, host_id)
);

-- Which registry each host runs by, and what came of the reloads that somebody asked for. Without a foreign key: a host that lost its
-- session writes its row of `hosts` anew.
CREATE TABLE host_registries (
  host_id    integer NOT NULL,
  digest     text NOT NULL,  -- of the registry in force
  request_id bigint NOT NULL,  -- the newest reload that it has answered; 0: none
  verdict    text NOT NULL,  -- of its last reload, or of its start
  remarks    text NOT NULL,  -- problems, or what waits for a plugin, one a line
  judged_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (host_id),
  CHECK (verdict IN ('loaded', 'refused', 'not_stored'))
);

CREATE TABLE hosts (
  host_id    integer GENERATED ALWAYS AS IDENTITY NOT NULL,  -- also the key of the advisory lock that the living host holds
  name       text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  knows      integer,  -- the schema version of its program; null: version 9 or older
  PRIMARY KEY (host_id)
);

-- The key that ids of deliveries are shown with: in the order of their making they would tell each organisation how much all the others
-- send. Numbers up to `shown_until` were shown as they are, and stay valid.
CREATE TABLE id_keys (
  is_only     boolean NOT NULL DEFAULT true,
  key         bytea NOT NULL,
  shown_until bigint NOT NULL,
  PRIMARY KEY (is_only),
  CHECK (is_only),
  CHECK (length(key) = 16)
);

-- What an installation goes on with although the default has changed since: a plugin that is not Waybill's own may need what a process of
-- its own does not give it. Where a host ran before 55, such plugins stay in the host until `plugin_isolation` says where they run.
CREATE TABLE kept_defaults (
  name  text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (name),
  CHECK (name = 'plugin_isolation')
);

-- Which intents of an organisation have ids above `above` and up to `upto`. Rows of one organisation do not overlap, and `listing` says
-- up to where they are complete.
CREATE TABLE listed_intents (
  org_id        integer NOT NULL,
  above         bigint NOT NULL,
  upto          bigint NOT NULL,
  oldest        timestamptz NOT NULL,  -- when the first and the last of them were created
  newest        timestamptz NOT NULL,
  intents       integer NOT NULL,  -- how many
  targets       text[] NOT NULL,
  ids           bigint[] NOT NULL,
  target_places smallint[] NOT NULL,  -- of each id, the place of its target in `targets`
  PRIMARY KEY (org_id, above)
);

-- Up to which id `listed_intents` is complete.
CREATE TABLE listing (
  only_row boolean NOT NULL DEFAULT true,
  upto     bigint NOT NULL,
  PRIMARY KEY (only_row),
  CHECK (only_row)
);

-- Which events a notification tells of.
CREATE TABLE notification_events (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  event_no    bigint NOT NULL,
  org_id      integer NOT NULL,
  PRIMARY KEY (shard, delivery_id, event_no)
);
CREATE INDEX notification_events_numbers ON notification_events (event_no);

-- Replays of the last hour, of each organisation.
CREATE TABLE notification_replays (
  org_id       integer NOT NULL,
  replayed_at  timestamptz NOT NULL,
  notification bigint NOT NULL
);
CREATE INDEX notification_replays_of ON notification_replays (org_id, replayed_at);

-- The latest notification of a rule and a channel: the one that takes the next event, while it is open.
CREATE TABLE notification_windows (
  org_id     integer NOT NULL,
  rule_id    uuid NOT NULL,
  channel_id uuid NOT NULL,
  latest     bigint NOT NULL,
  PRIMARY KEY (org_id, rule_id, channel_id)
) WITH (fillfactor = 50);

-- A delivery of events of one rule to one channel. Its id is its submission's.
CREATE TABLE notifications (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  rule_id     uuid,  -- null: it tests the channel
  channel_id  uuid NOT NULL,
  created_at  timestamptz NOT NULL,
  bytes       integer NOT NULL,  -- of its body
  latest      bigint NOT NULL,  -- the delivery of its latest replay, or itself
  PRIMARY KEY (shard, delivery_id)
);
CREATE INDEX notifications_newest ON notifications (org_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_channel ON notifications (org_id, channel_id, created_at DESC, delivery_id DESC);
CREATE INDEX notifications_of_rule ON notifications (org_id, rule_id, created_at DESC, delivery_id DESC);

-- What an action of a step was given by an operator: what it is sent, or its result.
CREATE TABLE pipeline_given (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  step          smallint NOT NULL,
  place         smallint NOT NULL,  -- in the step's actions, from 1 on
  org_id        integer NOT NULL,
  input         text,  -- JSON; null: what the pipeline says
  is_done       boolean NOT NULL,  -- it counts as accepted
  result        text,  -- JSON, where it is done; null: none
  PRIMARY KEY (shard, submission_id, step, place)
);

-- Which moves a submission's state may make. The program has the same table; a test compares the two.
CREATE TABLE pipeline_moves (
  pipeline   text NOT NULL,
  from_state text NOT NULL,
  to_state   text NOT NULL,
  PRIMARY KEY (pipeline, from_state, to_state)
);

-- The moves that an operator ordered and the pipeline's file does not have. Written in the transaction that moves, before it does.
CREATE TABLE pipeline_repairs (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  step          smallint NOT NULL,  -- the new one
  org_id        integer NOT NULL,
  from_state    text NOT NULL,
  to_state      text NOT NULL,
  made_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, submission_id, step)
);

-- One row for each time that a submission entered a state.
CREATE TABLE pipeline_steps (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  step          smallint NOT NULL,
  org_id        integer NOT NULL,
  pipeline      text NOT NULL,
  state         text NOT NULL,
  entered_at    timestamptz NOT NULL,
  left_at       timestamptz,
  actions       smallint[] NOT NULL,  -- places in the state's list of the actions that were run
  first_action  smallint NOT NULL,  -- action_order of the first of them; the others follow it
  PRIMARY KEY (shard, submission_id, step)
);
CREATE INDEX pipeline_steps_begun ON pipeline_steps (pipeline, entered_at) WHERE step = 1;
CREATE INDEX pipeline_steps_times ON pipeline_steps (org_id, pipeline, entered_at);

-- A pipeline as the registry had it once, with the contracts of the targets that it calls and the versions of the pipelines that it
-- starts. Written once.
CREATE TABLE pipeline_versions (
  version_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  pipeline   text NOT NULL,
  number     integer NOT NULL,
  hash       bytea NOT NULL,
  definition text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (version_id),
  UNIQUE (hash),
  UNIQUE (pipeline, number),
  CHECK (number > 0),
  CHECK (length(pipeline) BETWEEN 1 AND 64)
);

-- What a pipeline's submission has beside its row in submissions, whose state is the same.
CREATE TABLE pipeline_submissions (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id        integer NOT NULL,
  version_id    integer NOT NULL,
  pipeline      text NOT NULL,
  state         text NOT NULL,
  step          smallint NOT NULL,  -- its latest row in pipeline_steps
  next_action   smallint NOT NULL DEFAULT 1,  -- action_order of the next delivery
  routes        integer[] NOT NULL,  -- of the version's contracts, in their order
  metadata      text NOT NULL,
  reference     text,  -- what the metadata names as such
  parent        bigint,  -- the submission whose pipeline started this one
  created_at    timestamptz NOT NULL,
  blocked_at    timestamptz,  -- since when a failed stage waits for its replay
  ended_at      timestamptz,  -- when it came to a terminal state
  PRIMARY KEY (shard, submission_id),
  FOREIGN KEY (version_id) REFERENCES pipeline_versions(version_id),
  CHECK (metadata::json IS NOT NULL)
);
CREATE INDEX pipeline_submissions_blocked ON pipeline_submissions (shard, blocked_at, submission_id) WHERE blocked_at IS NOT NULL;
CREATE INDEX pipeline_submissions_ends ON pipeline_submissions (shard, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX pipeline_submissions_newest ON pipeline_submissions (org_id, submission_id DESC);
CREATE INDEX pipeline_submissions_references ON pipeline_submissions (org_id, reference, submission_id DESC) WHERE reference IS NOT NULL;
CREATE INDEX pipeline_submissions_states ON pipeline_submissions (org_id, pipeline, state, submission_id DESC);
CREATE INDEX pipeline_submissions_unfinished ON pipeline_submissions (pipeline, state) WHERE ended_at IS NULL;

-- Attempts that ended as error, until they have been told: added up by the hosts as they settle, never read from the attempts.
CREATE TABLE provider_failures (
  org_id      integer NOT NULL,
  until       timestamptz NOT NULL,  -- end of the period
  action_type text NOT NULL,
  target      text NOT NULL,
  reason      text NOT NULL,
  since       timestamptz NOT NULL,  -- its begin
  count       bigint NOT NULL,
  PRIMARY KEY (org_id, until, action_type, target, reason)
) WITH (fillfactor = 50);

-- Reloads that somebody asked hosts for.
CREATE TABLE reload_requests (
  request_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  asked_by   text NOT NULL,  -- "<user>@<machine>"
  asked_at   timestamptz NOT NULL DEFAULT now(),
  hosts      text[],  -- their names; null: whichever is told
  PRIMARY KEY (request_id)
);

-- Replays go out at a bounded rate: when the latest one of each organisation was given its turn.
CREATE TABLE replay_turns (
  org_id  integer NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (org_id)
);

CREATE TABLE rule_channels (
  org_id     integer NOT NULL,
  rule_id    uuid NOT NULL,
  channel_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, rule_id, channel_id),
  FOREIGN KEY (org_id, channel_id) REFERENCES channels(org_id, channel_id),
  FOREIGN KEY (org_id, rule_id) REFERENCES alert_rules(org_id, rule_id) ON DELETE CASCADE
);
CREATE INDEX rule_channels_of_channel ON rule_channels (org_id, channel_id);

-- The hash of the functions' texts that were applied last.
CREATE TABLE schema_functions (
  is_one     boolean NOT NULL DEFAULT true,  -- one row
  hash       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (is_one),
  CHECK (is_one)
);

-- Targets that rest after an outage or refused credentials; every host passes them over.
CREATE TABLE target_outages (
  org_id      integer NOT NULL,
  target      text NOT NULL,
  until       timestamptz NOT NULL,
  reason      text NOT NULL,
  -- When the outage began that a target rests for: the first outcome that blamed the target, after the last one that did not.
  since       timestamptz NOT NULL DEFAULT now(),
  probe_until timestamptz,  -- a probe is under way until then; null: none is
  probe_host  integer,  -- of whom
  answered    boolean NOT NULL DEFAULT false,  -- it goes on by answers, such as 502: the target can be reached
  PRIMARY KEY (org_id, target)
);

-- When each target with a rate may be sent to next.
CREATE TABLE target_rates (
  org_id  integer NOT NULL,
  target  text NOT NULL,
  next_at timestamptz NOT NULL,  -- when the last permit that was given out is used up
  PRIMARY KEY (org_id, target)
);

-- When a token was last used: apart, so that nobody who locks tokens holds up those who note their use, nor the other way round.
CREATE TABLE token_uses (
  token_id bigint NOT NULL,
  used_at  timestamptz NOT NULL,  -- to a minute
  PRIMARY KEY (token_id)
);

-- ---- what is held of rows that are there from here on; rows of before 1.0 may be older than it ----

ALTER TABLE submissions ADD CONSTRAINT submissions_check
  CHECK (pipeline <> 'intent' OR state = 'as_delivery' OR completed_at IS NOT NULL) NOT VALID;
ALTER TABLE ready ADD CONSTRAINT ready_check CHECK (
  CASE WHEN queued THEN lease_lost = 0 AND status IN ('due', 'claimed', 'open')
       ELSE lease_lost > 0 AND status IN ('due', 'claimed') OR lease_lost = 0 AND status = 'waiting' END) NOT VALID;

-- ---- views ----

-- Whose claim it is, and until when, comes along.
CREATE VIEW claimed WITH (security_invoker = true) AS
  SELECT r.shard, r.action_order, r.org_id, r.delivery_id, r.submission_id, r.due_at, r.route_id, r.attempt_count, r.claim_token, r.claimed_at,
         r.lease_until, r.claimed_by, r.lease_lost, r.maybe_sent, r.status, r.composed, r.progress, r.edited, r.queued, r.uncounted,
         c.host_id, c.lease_until AS claim_ends
  FROM claims c CROSS JOIN LATERAL unnest(c.deliveries) AS one(delivery_id)
  JOIN ready r ON r.shard = c.shard AND r.delivery_id = one.delivery_id AND r.claim_token = c.token AND r.status = 'claimed';

-- Hosts hear each other across a step of the database's clock. Until the first of them has said something by the new time, those count that
-- spoke within 15 s of the one that spoke last; it then takes the others' words along (tell_host_facts). Without this a host that reached
-- nothing was alone for a second, and its word on destinations held for all.
CREATE VIEW heard_hosts WITH (security_invoker = true) AS
WITH said AS (
  SELECT h.host_id, coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END, now()) AS at
  FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id)
SELECT host_id FROM said
WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds'
   OR NOT EXISTS (SELECT FROM said WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds')
      AND at >= (SELECT max(at) FROM said) - interval '15 seconds';

-- The hosts whose session lives: each holds an advisory lock of its own id as long as its process does. What a host that has just crashed
-- had found of a destination confirms nothing: on the same machine it may be what its successor finds (see host_findings).
CREATE VIEW living_hosts WITH (security_invoker = true) AS
SELECT l.objid::bigint::int AS host_id, l.pid
FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = hashtext('waybill:' || current_schema())::oid
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- How notifications stand, in the words of their API.
CREATE VIEW notification_states WITH (security_invoker = true) AS
  SELECT n.shard, n.delivery_id, n.org_id, n.rule_id, n.channel_id, n.created_at,
         CASE WHEN r.status = 'claimed' THEN 'processing' WHEN r.status IS NOT NULL THEN 'pending' WHEN d.status = 'accepted' THEN 'succeeded'
              WHEN d.status = 'cancelled' OR d.reason = 'channel_deleted' THEN 'cancelled' ELSE 'failed' END AS status,
         coalesce(r.attempt_count, d.attempt_count, 0) AS attempt_count, coalesce(r.due_at, d.ended_at) AS send_after,
         CASE WHEN d.status = 'accepted' THEN d.ended_at END AS delivered_at
  FROM notifications n
  LEFT JOIN ready r ON r.shard = n.shard AND r.delivery_id = n.latest
  LEFT JOIN deliveries d ON d.shard = n.shard AND d.id = n.latest;

-- An intent ends as its first delivery does; one that was replayed after its hosts died ends as the latest replay that has ended. Until
-- then the end that its client has seen stays. What ended an intent: `d`, or `o` of those from before 9, with an id of its own; or `e`, the
-- latest replay that has ended.
CREATE VIEW submission_states WITH (security_invoker = true) AS
  SELECT s.shard, s.id, s.org_id, s.kind, s.client_ref, s.pipeline, s.target,
         CASE WHEN s.state <> 'as_delivery' THEN s.state WHEN e.ended_at IS NOT NULL THEN e.status::text
              ELSE coalesce(d.status::text, o.status::text, 'pending') END AS state,
         CASE WHEN s.state <> 'as_delivery' THEN s.reason WHEN e.ended_at IS NOT NULL THEN e.reason ELSE coalesce(d.reason, o.reason) END AS reason,
         s.payload_hash, s.created_at,
         CASE WHEN s.state <> 'as_delivery' THEN s.completed_at ELSE coalesce(e.ended_at, d.ended_at, o.ended_at) END AS completed_at
  FROM submissions s
  LEFT JOIN deliveries d ON s.state = 'as_delivery' AND d.shard = s.shard AND d.id = s.id
  LEFT JOIN deliveries o ON s.state = 'as_delivery' AND d.id IS NULL AND o.shard = s.shard AND o.org_id = s.org_id
    AND o.submission_id = s.id AND o.id <> o.submission_id AND o.action_order = 1 AND o.replay = 0
  LEFT JOIN LATERAL (
    SELECT r.status, r.reason, r.ended_at FROM deliveries r
    WHERE coalesce(d.reason, o.reason) = 'worker_lost' AND r.shard = s.shard AND r.org_id = s.org_id AND r.submission_id = s.id
      AND r.id <> r.submission_id AND r.action_order = 1 AND r.replay > 0
    ORDER BY r.replay DESC LIMIT 1) e ON true;

-- By the name that the table of outages had before 54, and with its ctid, since hosts of then change rows by it.
CREATE VIEW target_rests WITH (security_invoker = true) AS SELECT ctid, * FROM target_outages;

-- ---- rows that are there from the beginning ----

INSERT INTO installation DEFAULT VALUES;
INSERT INTO organisations (name) VALUES ('default');  -- org_id 1 serves the surfaces without an organisation in their path
INSERT INTO channel_types VALUES ('webhook');
INSERT INTO listing (upto) VALUES (0);
INSERT INTO id_keys (key, shown_until)
SELECT substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) FOR 16), 1023;
INSERT INTO pipeline_moves (pipeline, from_state, to_state) VALUES
  ('form', 'failed', 'processing'),
  ('form', 'failed', 'purged'),
  ('form', 'processing', 'failed'),
  ('form', 'processing', 'routed'),
  ('form', 'received', 'failed'),
  ('form', 'received', 'processing'),
  ('form', 'received', 'purged'),
  ('form', 'routed', 'purged'),
  ('intent', 'pending', 'accepted'),
  ('intent', 'pending', 'exhausted'),
  ('intent', 'pending', 'rejected');
INSERT INTO action_words (action_type, done, failed, status_field, ref_field) VALUES
  ('email_raw', 'email_sent', 'email_failed', NULL, NULL),
  ('email_template', 'email_sent', 'email_failed', NULL, NULL),
  ('happyfox_template', 'happyfox_success', 'happyfox_failure', 'happyfoxStatus', 'happyfoxTicketId');
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('access_rules', 'SELECT', 'SELECT', NULL, NULL),
  ('action_words', 'SELECT', 'SELECT', NULL, 'SELECT'),
  ('alert_events', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, 'SELECT'),
  ('alert_rules', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, 'SELECT, INSERT, UPDATE, DELETE'),
  ('alerts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, 'SELECT, INSERT, UPDATE'),
  ('api_tokens', 'SELECT, INSERT, UPDATE (revoked_at)', 'SELECT (token_id, org_id, name, role, created_at, revoked_at, public_id, operates, expires_at, only_targets, only_paths, certificate)', NULL, NULL),
  ('archived_submissions', 'SELECT', 'SELECT', 'submission', 'SELECT'),
  ('artifacts', 'SELECT, INSERT, DELETE', 'SELECT', 'delivery', NULL),
  ('attachments', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('attempts', 'SELECT, INSERT', 'SELECT', 'delivery', 'SELECT'),
  ('audit_log', 'SELECT, INSERT', 'SELECT', 'submission', 'SELECT, INSERT'),
  ('channel_hosts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('channel_types', 'SELECT', 'SELECT', NULL, 'SELECT'),
  ('channels', 'SELECT, INSERT, UPDATE', 'SELECT (org_id, channel_id, shard, route_id, name, type, rotated_at, failing_since, disabled_at, disabled_reason, deleted_at, created_at, updated_at)', NULL, 'SELECT, INSERT, UPDATE'),
  ('claimed', 'SELECT', 'SELECT', NULL, NULL),
  ('claims', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('contract_snapshots', 'SELECT, INSERT', 'SELECT', NULL, 'SELECT, INSERT'),
  ('cut_off_hosts', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL),
  ('dead_letter_edits', 'SELECT, INSERT, DELETE', 'SELECT', 'submission', 'SELECT, INSERT'),
  ('dead_letters', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, UPDATE'),
  ('deliveries', 'SELECT, INSERT, UPDATE (result)', 'SELECT', 'submission', 'SELECT, INSERT'),
  ('digest_failures', 'SELECT, INSERT, DELETE', 'SELECT', 'submission', 'SELECT'),
  ('edited_payloads', 'SELECT, INSERT, DELETE', 'SELECT', 'delivery', 'SELECT, INSERT'),
  ('failure_check_hosts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('failure_check_targets', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL),
  ('failure_checks', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL),
  ('failure_digests', 'SELECT, INSERT, DELETE', 'SELECT', NULL, 'SELECT'),
  ('form_actions', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('form_submissions', 'SELECT, INSERT, UPDATE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('forms', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('heard_hosts', 'SELECT', 'SELECT', NULL, NULL),
  ('host_facts', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('host_findings', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('host_registries', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('hosts', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL),
  ('id_keys', 'SELECT', 'SELECT (is_only)', NULL, NULL),
  ('installation', 'SELECT', 'SELECT', NULL, NULL),
  ('kept_defaults', 'SELECT', 'SELECT', NULL, NULL),
  ('listed_intents', 'SELECT, INSERT, DELETE', 'SELECT', NULL, 'SELECT'),
  ('listing', 'SELECT, UPDATE', 'SELECT', NULL, 'SELECT'),
  ('living_hosts', 'SELECT', 'SELECT', NULL, NULL),
  ('notification_events', 'SELECT, INSERT', 'SELECT', 'delivery', 'SELECT'),
  ('notification_replays', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL),
  ('notification_states', 'SELECT', 'SELECT', NULL, 'SELECT'),
  ('notification_windows', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL),
  ('notifications', 'SELECT, INSERT, UPDATE', 'SELECT', 'delivery', 'SELECT'),
  ('org_keys', 'SELECT, INSERT, UPDATE', 'SELECT (org_id, key_id, master, created_at)', NULL, 'SELECT, INSERT'),
  ('organisations', 'SELECT, INSERT, UPDATE (disabled_at, weight)', 'SELECT', NULL, 'SELECT'),
  ('pipeline_given', 'SELECT, INSERT, UPDATE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_moves', 'SELECT, INSERT', 'SELECT', NULL, 'SELECT'),
  ('pipeline_repairs', 'SELECT, INSERT', 'SELECT', 'submission', 'SELECT, INSERT'),
  ('pipeline_steps', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_submissions', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_versions', 'SELECT, INSERT', 'SELECT', NULL, 'SELECT'),
  ('provider_failures', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('ready', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE, DELETE'),
  ('reload_requests', 'SELECT, INSERT, DELETE', 'SELECT', NULL, NULL),
  ('replay_turns', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, 'SELECT, INSERT, UPDATE'),
  ('rule_channels', 'SELECT, INSERT, DELETE', 'SELECT', NULL, 'SELECT, INSERT, DELETE'),
  ('schema_functions', 'SELECT', 'SELECT', NULL, NULL),
  ('schema_migrations', 'SELECT', 'SELECT', NULL, NULL),
  ('submission_states', 'SELECT', 'SELECT', NULL, 'SELECT'),
  ('submissions', 'SELECT, INSERT, UPDATE', 'SELECT', 'itself', 'SELECT, INSERT, UPDATE'),
  ('target_outages', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('target_rates', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL),
  ('target_rests', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('token_uses', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL);

-- ---- the functions, from schema/functions, and what calls them ----

{{functions}}

-- What nobody else than Waybill's roles may call; apply_access() grants what they need.
REVOKE ALL ON FUNCTION adopt_events(integer, bigint[], interval, integer, interval), apply_access(), check_host_version(),
  delete_old(smallint, bigint[]), delete_old_events(interval, integer), ends_of_action(delivery_status, jsonb, jsonb),
  fan_out(integer, bigint, interval, integer), fan_out(integer, bigint, interval, integer, interval), grant_tenant(text),
  guard_partition(regclass), guard_partitions(), guard_rows(regclass), keep_policy(regclass, name, name, text), lock_holders(text),
  make_partitions(integer), make_partitions_now(integer), notification_body(smallint, bigint), submission_writers(), take_access(text),
  tenant_problem(text) FROM PUBLIC;

-- It is erased with the submission's last move, and never changed. A form's row is written anew as it moves, its body is not: what is
-- larger than two kilobytes is stored apart by PostgreSQL and stays.
CREATE TRIGGER submissions_body BEFORE UPDATE OF body ON submissions
  FOR EACH ROW
  WHEN (new.body IS DISTINCT FROM old.body AND NOT (new.body IS NULL AND new.state = 'purged'))
  EXECUTE FUNCTION refuse('what was handed in does not change');
CREATE TRIGGER submissions_ends BEFORE UPDATE ON submissions
  FOR EACH ROW
  WHEN (old.pipeline = 'intent' AND old.completed_at IS NOT NULL AND new.completed_at IS DISTINCT FROM old.completed_at)
  EXECUTE FUNCTION refuse('a submission that has ended does not change');
CREATE TRIGGER submissions_follow BEFORE UPDATE ON submissions
  FOR EACH ROW
  WHEN (old.state = 'as_delivery' AND (new.state <> old.state OR new.reason IS NOT NULL OR new.completed_at IS NOT NULL))
  EXECUTE FUNCTION refuse('this submission''s state is its delivery''s');
-- An intent's one move, out of a state that has not ended, costs no call.
CREATE TRIGGER submissions_moves BEFORE UPDATE ON submissions
  FOR EACH ROW
  WHEN (new.state <> old.state AND (old.pipeline <> 'intent' OR old.completed_at IS NOT NULL))
  EXECUTE FUNCTION check_move();
CREATE TRIGGER deliveries_stay AFTER UPDATE ON deliveries
  FOR EACH ROW
  WHEN (new.status <> old.status OR new.ended_at <> old.ended_at)
  EXECUTE FUNCTION refuse('a delivery that has ended does not change');
CREATE TRIGGER ready_moves AFTER UPDATE ON ready
  FOR EACH ROW
  WHEN (new.status <> old.status AND NOT (old.status = 'waiting' AND new.status = 'due' OR old.status = 'open' AND new.status IN ('due', 'claimed')
        OR old.status = 'due' AND new.status = 'claimed' OR old.status = 'claimed' AND new.status = 'due'))
  EXECUTE FUNCTION refuse('a delivery cannot make this move');
CREATE TRIGGER attempts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON attempts
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');
-- Append-only, also past the parent. A statement that names a partition does not fire its parent's triggers for statements: each partition
-- has its own, and keeps it when it is detached. The triggers for rows are copied to every partition by PostgreSQL itself, also to one
-- attached by hand. ALWAYS: not even session_replication_role = replica passes them over.
CREATE TRIGGER attempts_rows_stay BEFORE DELETE OR UPDATE ON attempts
  FOR EACH ROW
  EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_rows_stay BEFORE DELETE OR UPDATE ON audit_log
  FOR EACH ROW
  EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
CREATE TRIGGER artifacts_stay BEFORE UPDATE ON artifacts FOR EACH STATEMENT EXECUTE FUNCTION refuse('what was composed is sent as it is');
CREATE TRIGGER dead_letter_edits_stay BEFORE UPDATE OR TRUNCATE ON dead_letter_edits
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('what was edited is kept as it was, until its submission is purged');
CREATE TRIGGER hosts_version BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION check_host_version();
CREATE TRIGGER pipeline_versions_stay BEFORE UPDATE ON pipeline_versions
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('a version of a pipeline does not change');
ALTER TABLE attempts ENABLE ALWAYS TRIGGER attempts_append_only;
ALTER TABLE attempts ENABLE ALWAYS TRIGGER attempts_rows_stay;
ALTER TABLE audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
ALTER TABLE audit_log ENABLE ALWAYS TRIGGER audit_log_rows_stay;
ALTER TABLE dead_letter_edits ENABLE ALWAYS TRIGGER dead_letter_edits_stay;

-- Partitions: one a month, made ahead of time; the default one catches what no month was made for.
SELECT guard_partitions();
SELECT make_partitions(2);
