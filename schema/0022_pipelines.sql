-- Runs beside: none
--
-- Submissions that walk a pipeline of the registry: each keeps the version of the pipeline's file that it started with. A host of an
-- earlier version does not know what follows from the end of a stage.

-- A pipeline as the registry had it once, with the contracts of the targets that it calls and the versions of the pipelines that it
-- starts. Written once.
CREATE TABLE pipeline_versions (
  version_id integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline   text        NOT NULL CHECK (length(pipeline) BETWEEN 1 AND 64),
  number     integer     NOT NULL CHECK (number > 0),
  hash       bytea       NOT NULL UNIQUE,
  definition text        NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (pipeline, number)
);
CREATE TRIGGER pipeline_versions_stay BEFORE UPDATE ON pipeline_versions FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('a version of a pipeline does not change');

-- What a pipeline's submission has beside its row in submissions, whose state is the same.
CREATE TABLE pipeline_submissions (
  shard         smallint    NOT NULL,
  submission_id bigint      NOT NULL,
  org_id        integer     NOT NULL,
  version_id    integer     NOT NULL REFERENCES pipeline_versions,
  pipeline      text        NOT NULL,
  state         text        NOT NULL,
  step          smallint    NOT NULL,             -- its latest row in pipeline_steps
  next_action   smallint    NOT NULL DEFAULT 1,   -- action_order of the next delivery
  routes        integer[]   NOT NULL,             -- of the version's contracts, in their order
  metadata      text        NOT NULL CHECK (metadata::json IS NOT NULL),
  reference     text,                             -- what the metadata names as such
  parent        bigint,                           -- the submission whose pipeline started this one
  created_at    timestamptz NOT NULL,
  blocked_at    timestamptz,                      -- since when a failed stage waits for its replay
  ended_at      timestamptz,                      -- when it came to a terminal state
  PRIMARY KEY (shard, submission_id)
);
CREATE INDEX pipeline_submissions_newest ON pipeline_submissions (org_id, submission_id DESC);
CREATE INDEX pipeline_submissions_states ON pipeline_submissions (org_id, pipeline, state, submission_id DESC);
CREATE INDEX pipeline_submissions_references ON pipeline_submissions (org_id, reference, submission_id DESC) WHERE reference IS NOT NULL;
CREATE INDEX pipeline_submissions_ends ON pipeline_submissions (shard, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX pipeline_submissions_blocked ON pipeline_submissions (shard, blocked_at, submission_id) WHERE blocked_at IS NOT NULL;

-- One row for each time that a submission entered a state.
CREATE TABLE pipeline_steps (
  shard         smallint    NOT NULL,
  submission_id bigint      NOT NULL,
  step          smallint    NOT NULL,
  org_id        integer     NOT NULL,
  pipeline      text        NOT NULL,
  state         text        NOT NULL,
  entered_at    timestamptz NOT NULL,
  left_at       timestamptz,
  actions       smallint[]  NOT NULL,  -- places in the state's list of the actions that were run
  first_action  smallint    NOT NULL,  -- action_order of the first of them; the others follow it
  PRIMARY KEY (shard, submission_id, step)
);
CREATE INDEX pipeline_steps_times ON pipeline_steps (org_id, pipeline, entered_at);
CREATE INDEX pipeline_steps_begun ON pipeline_steps (pipeline, entered_at) WHERE step = 1;

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('pipeline_steps',       'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_submissions', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_versions',    'SELECT, INSERT',                 'SELECT', NULL,         'SELECT');
UPDATE access_rules SET application = 'SELECT, INSERT' WHERE table_name = 'pipeline_moves';

ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check;
ALTER TABLE alerts ADD CONSTRAINT alerts_kind_check CHECK (kind IN ('dead_letter', 'infected_attachment', 'stuck', 'provider_failures', 'plugin_crash',
                                                                  'plugin_switched_off', 'channel_disabled', 'old_secret', 'pipeline_stuck',
                                                                  'failed_messages'));
