-- Web forms: their actions as loaded from the registry, their submissions, what is attached, what died on the way, and alerts.

-- Which moves a submission's state may make. The program has the same table; a test compares the two.
CREATE TABLE pipeline_moves (
  pipeline   text NOT NULL,
  from_state text NOT NULL,
  to_state   text NOT NULL,
  PRIMARY KEY (pipeline, from_state, to_state)
);
INSERT INTO pipeline_moves VALUES
  ('intent', 'pending', 'accepted'), ('intent', 'pending', 'rejected'), ('intent', 'pending', 'exhausted'),
  ('form', 'received', 'processing'), ('form', 'received', 'failed'), ('form', 'received', 'purged'),
  ('form', 'processing', 'routed'), ('form', 'processing', 'failed'), ('form', 'failed', 'processing'),
  ('form', 'routed', 'purged'), ('form', 'failed', 'purged');

CREATE FUNCTION check_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM pipeline_moves WHERE pipeline = NEW.pipeline AND from_state = OLD.state AND to_state = NEW.state) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'waybill: a submission of pipeline % cannot move from % to %', NEW.pipeline, OLD.state, NEW.state
    USING ERRCODE = 'check_violation';
END $$;
DROP TRIGGER submissions_moves ON submissions;
-- An intent's one move, out of a state that has not ended, costs no call.
CREATE TRIGGER submissions_moves BEFORE UPDATE ON submissions FOR EACH ROW
  WHEN (NEW.state <> OLD.state AND (OLD.pipeline <> 'intent' OR OLD.completed_at IS NOT NULL))
  EXECUTE FUNCTION check_move();
CREATE TRIGGER submissions_ends BEFORE UPDATE ON submissions FOR EACH ROW
  WHEN (OLD.pipeline = 'intent' AND OLD.completed_at IS NOT NULL AND NEW.completed_at IS DISTINCT FROM OLD.completed_at)
  EXECUTE FUNCTION refuse('a submission that has ended does not change');

CREATE TABLE forms (
  form_id   text PRIMARY KEY,
  name      text NOT NULL,
  loaded_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE form_actions (
  form_id           text NOT NULL REFERENCES forms ON DELETE CASCADE,
  action_order      smallint NOT NULL,
  action_type       text NOT NULL,
  destination       text NOT NULL,
  template_id       text,
  subject_template  text,
  happyfox_category text,
  PRIMARY KEY (form_id, action_order)
);

-- How an action type's ends are called in the audit and on the form surface. A type that is not here is called by its own name.
CREATE TABLE action_words (
  action_type  text PRIMARY KEY,
  done         text NOT NULL,
  failed       text NOT NULL,
  status_field text,  -- of GET /v1/submissions/{id}: how the last such action ended
  ref_field    text   -- and the receiver's id of it
);
INSERT INTO action_words VALUES
  ('email_template', 'email_sent', 'email_failed', NULL, NULL),
  ('email_raw', 'email_sent', 'email_failed', NULL, NULL),
  ('happyfox_template', 'happyfox_success', 'happyfox_failure', 'happyfoxStatus', 'happyfoxTicketId');

-- What a submission of a form has beside the rest of its kind.
CREATE TABLE form_submissions (
  shard                smallint NOT NULL,
  submission_id        bigint NOT NULL,
  org_id               integer NOT NULL,
  finalized_at         timestamptz,
  processing_since     timestamptz,           -- null in every state but processing
  retention_expires_at timestamptz NOT NULL,
  purged_at            timestamptz,
  PRIMARY KEY (shard, submission_id)
);
CREATE INDEX form_submissions_processing ON form_submissions (shard, processing_since) WHERE processing_since IS NOT NULL;
CREATE INDEX form_submissions_kept ON form_submissions (shard, retention_expires_at) WHERE purged_at IS NULL;

-- Not sharded by key: a scan result comes with the attachment's id alone.
CREATE TABLE attachments (
  org_id        integer NOT NULL,
  attachment_id text NOT NULL,
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  position      smallint NOT NULL,
  name          text NOT NULL,
  content_type  text NOT NULL,
  size          bigint NOT NULL CHECK (size >= 0),
  object_uri    text NOT NULL,
  scan          text NOT NULL DEFAULT 'pending' CHECK (scan IN ('pending', 'clean', 'infected')),
  scanned_at    timestamptz,
  PRIMARY KEY (org_id, attachment_id)
);
CREATE INDEX attachments_of ON attachments (shard, submission_id, position);

-- A replay is a delivery of its own: ends have no way out.
ALTER TABLE deliveries ADD COLUMN replay smallint NOT NULL DEFAULT 0;
ALTER TABLE deliveries DROP CONSTRAINT deliveries_shard_org_id_submission_id_action_order_key;
ALTER TABLE deliveries ADD UNIQUE (shard, org_id, submission_id, action_order, replay);

-- What an admin made of a payload, for one replayed delivery.
CREATE TABLE edited_payloads (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  body        bytea NOT NULL,
  PRIMARY KEY (shard, delivery_id)
);
ALTER TABLE ready ADD COLUMN edited boolean NOT NULL DEFAULT false;  -- there is an edited payload to be sent

-- A delivery that ended without its receiver having taken it, for people to look at.
CREATE TABLE dead_letters (
  shard           smallint NOT NULL,
  id              bigint NOT NULL,  -- of the delivery
  org_id          integer NOT NULL,
  submission_id   bigint NOT NULL,
  kind            text NOT NULL,
  client_ref      text NOT NULL,
  target          text NOT NULL,    -- of the submission: the form's id
  action_order    smallint NOT NULL,
  action_type     text NOT NULL,
  reason          text NOT NULL,
  died_at         timestamptz NOT NULL,
  payload         bytea,            -- as edited since; null: as handed in
  destination     text,             -- JSON, as edited since; null: as the contract has it
  replayed_at     timestamptz,
  replayed_by     text,
  replay_delivery bigint,
  PRIMARY KEY (shard, id)
);
CREATE INDEX dead_letters_by_time ON dead_letters (org_id, died_at DESC, id DESC);

-- Before and after of each edit. The audit names an edit and holds its hashes; the values go when the submission is purged.
CREATE TABLE dead_letter_edits (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  shard          smallint NOT NULL,
  dead_letter_id bigint NOT NULL,
  submission_id  bigint NOT NULL,
  org_id         integer NOT NULL,
  edited_at      timestamptz NOT NULL DEFAULT now(),
  actor          text NOT NULL,
  field          text NOT NULL CHECK (field IN ('fields', 'destination')),
  before         text NOT NULL,
  after          text NOT NULL
);
CREATE INDEX dead_letter_edits_of ON dead_letter_edits (shard, submission_id);

-- What somebody ought to know: one row an incident, counted, told to the alert target when `count` has outgrown `told`.
CREATE TABLE alerts (
  org_id   integer NOT NULL,
  incident text NOT NULL,
  kind     text NOT NULL CHECK (kind IN ('dead_letter', 'infected_attachment', 'stuck', 'provider_failures')),
  message  text NOT NULL,             -- of the latest
  count    bigint NOT NULL DEFAULT 1,
  told     bigint NOT NULL DEFAULT 0,
  first_at timestamptz NOT NULL DEFAULT now(),
  last_at  timestamptz NOT NULL DEFAULT now(),
  told_at  timestamptz,
  PRIMARY KEY (org_id, incident)
);
CREATE FUNCTION raise_alert(org integer, what text, about text, words text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO alerts (org_id, incident, kind, message) VALUES (org, what || ':' || about, what, words)
  ON CONFLICT (org_id, incident) DO UPDATE SET count = alerts.count + 1, message = excluded.message, last_at = now()
$$;
