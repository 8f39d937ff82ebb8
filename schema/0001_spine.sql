-- The spine: organisations and tokens, submissions, deliveries, the queue, the attempt log and the audit log.
-- Applied with search_path set to Waybill's schema. Tables of the hot path carry the shard first in every key.

-- STABLE like their bodies, or they would not be inlined. The double is exact to the microsecond until the year 2255.
CREATE FUNCTION micros(t timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT (date_part('epoch', t) * 1000000)::bigint $$;
CREATE FUNCTION at_micros(us bigint) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT timestamptz 'epoch' + us * interval '1 microsecond' $$;

CREATE TABLE installation (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  shards   smallint NOT NULL DEFAULT 1 CHECK (shards BETWEEN 1 AND 1024)
);
INSERT INTO installation DEFAULT VALUES;

CREATE TABLE organisations (
  org_id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO organisations (name) VALUES ('default');  -- org_id 1 serves the surfaces without an organisation in their path

CREATE TABLE api_tokens (
  token_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_id     integer NOT NULL REFERENCES organisations,
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  role       text NOT NULL CHECK (role IN ('member', 'admin', 'owner')),
  hash       bytea NOT NULL UNIQUE,  -- SHA-256 of the token; the token itself is shown once and kept nowhere
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
CREATE UNIQUE INDEX api_tokens_live_name ON api_tokens (org_id, name) WHERE revoked_at IS NULL;

CREATE TYPE delivery_status AS ENUM
  ('waiting', 'open', 'due', 'claimed', 'accepted', 'rejected', 'exhausted', 'deferred', 'cancelled');

-- A target's contract as resolved at submission time, once per organisation and content. A route is what the claim goes by.
CREATE TABLE contract_snapshots (
  route_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  org_id     integer NOT NULL REFERENCES organisations,
  hash       bytea NOT NULL,
  contract   text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, hash)
);

CREATE SEQUENCE object_ids;  -- an id is this number times 1,024 plus the shard

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
  PRIMARY KEY (shard, id),
  UNIQUE (shard, org_id, kind, client_ref)
) WITH (fillfactor = 50);  -- each row is updated once, at its end: with room on its page no index is written again

CREATE TABLE payloads (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  org_id        integer NOT NULL,
  body          bytea NOT NULL,
  PRIMARY KEY (shard, submission_id)
);

CREATE TABLE deliveries (
  shard         smallint NOT NULL,
  id            bigint NOT NULL,
  org_id        integer NOT NULL,
  submission_id bigint NOT NULL,
  action_order  smallint NOT NULL,
  action_type   text NOT NULL,
  route_id      integer NOT NULL,
  status        delivery_status NOT NULL,  -- how it began; then how it ended. What it is in between, `ready` says.
  attempt_count integer NOT NULL DEFAULT 0,
  reason        text,
  provider_ref  text,
  result        jsonb,
  ended_at      timestamptz,
  PRIMARY KEY (shard, id),
  UNIQUE (shard, org_id, submission_id, action_order)
) WITH (fillfactor = 50);

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
  status        delivery_status NOT NULL CHECK (status IN ('waiting', 'open', 'due', 'claimed')),
  PRIMARY KEY (shard, delivery_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_scale_factor = 0.0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX ready_due ON ready (shard, route_id, due_at, delivery_id) WHERE status = 'due';
CREATE INDEX ready_claimed ON ready (shard, claimed_by) WHERE status = 'claimed';

CREATE TABLE attempts (
  shard        smallint NOT NULL,
  delivery_id  bigint NOT NULL,
  number       integer NOT NULL,
  org_id       integer NOT NULL,
  started_at   timestamptz NOT NULL,
  finished_at  timestamptz,            -- null: nobody saw its end
  outcome      text NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'deferred', 'error', 'unknown')),
  reason       text,
  error        text,
  code         integer,
  provider_ref text,
  PRIMARY KEY (shard, delivery_id, number, started_at)
) PARTITION BY RANGE (started_at);

CREATE TABLE audit_log (
  shard         smallint NOT NULL,
  submission_id bigint NOT NULL,
  created_at    timestamptz NOT NULL,
  id            bigint GENERATED ALWAYS AS IDENTITY,
  org_id        integer NOT NULL,
  delivery_id   bigint,
  action        text NOT NULL,
  from_state    text,
  to_state      text,
  trigger       text NOT NULL,
  actor         text NOT NULL,
  actor_type    text NOT NULL CHECK (actor_type IN ('system', 'worker', 'admin')),
  metadata      jsonb,
  PRIMARY KEY (shard, submission_id, created_at, id)
) PARTITION BY RANGE (created_at);

-- Partitions: one a month, made ahead of time; the default one catches what no month was made for.
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
CREATE TABLE audit_log_default PARTITION OF audit_log DEFAULT;
CREATE FUNCTION make_partitions(months_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  first  date;
  made   integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('waybill-partitions:' || current_schema()));  -- several hosts ask at the same hour
  FOREACH parent IN ARRAY ARRAY['attempts', 'audit_log'] LOOP
    FOR i IN 0..months_ahead LOOP
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
  RETURN made;
END $$;
SELECT make_partitions(2);

-- Targets that rest after an outage or refused credentials; every host passes them over.
CREATE TABLE target_rests (
  org_id integer NOT NULL,
  target text NOT NULL,
  until  timestamptz NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (org_id, target)
);

CREATE TABLE hosts (
  host_id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- also the key of the advisory lock that the living host holds
  name       text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);

-- What the program's own tables forbid, the database forbids as well.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'waybill: % on % is not allowed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation', HINT = TG_ARGV[0];
END $$;
CREATE TRIGGER ready_moves BEFORE UPDATE ON ready FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND NOT (OLD.status IN ('waiting', 'open') AND NEW.status = 'due'
        OR OLD.status = 'due' AND NEW.status = 'claimed' OR OLD.status = 'claimed' AND NEW.status = 'due'))
  EXECUTE FUNCTION refuse('a delivery cannot make this move');
CREATE TRIGGER deliveries_moves BEFORE UPDATE ON deliveries FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND (OLD.ended_at IS NOT NULL OR OLD.status NOT IN ('waiting', 'open', 'due', 'claimed')))
  EXECUTE FUNCTION refuse('a delivery that has ended does not change');
CREATE TRIGGER submissions_moves BEFORE UPDATE ON submissions FOR EACH ROW
  WHEN (OLD.completed_at IS NOT NULL AND (NEW.state <> OLD.state OR NEW.completed_at IS DISTINCT FROM OLD.completed_at))
  EXECUTE FUNCTION refuse('a submission that has ended does not change');
CREATE TRIGGER attempts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON attempts FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('attempts are append-only; old partitions are dropped whole');
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('the audit log is append-only; old partitions are dropped whole');
