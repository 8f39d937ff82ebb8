-- Runs beside: 22
--
-- The check of what providers failed to deliver after they had accepted it, with its digests; and the archive of pipelines' submissions.
-- A host of version 22 does neither.

-- The check that is planned, and the one that is under way, of the whole installation.
CREATE TABLE failure_checks (
  only_row    boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
  schedule    text        NOT NULL,             -- with its time zone, as the hosts that planned it have it
  next_at     timestamptz,                      -- the next tick of the schedule; null: it has none
  last_tick   timestamptz,                      -- the latest tick that a check was begun for
  tick        timestamptz,                      -- what the check that is not over yet was begun for; null: there is none
  by_hand     boolean     NOT NULL DEFAULT false,
  begun_at    timestamptz,
  digest_id   bigint,                           -- of the digest that it makes
  token       bigint,                           -- fencing token of who does it
  host        text,
  lease_until timestamptz,                      -- from then on another one may go on with it
  tries       integer     NOT NULL DEFAULT 0    -- begun since one ended in good order
);

-- Since when each target's failures are known.
CREATE TABLE failure_check_targets (
  target        text        PRIMARY KEY,
  checked_until timestamptz NOT NULL            -- before the latest complete list was asked for
);

CREATE TABLE failure_digests (
  org_id      integer     NOT NULL,
  digest_id   bigint      NOT NULL,
  tick        timestamptz NOT NULL,
  by_hand     boolean     NOT NULL,
  begun_at    timestamptz NOT NULL,
  finished_at timestamptz NOT NULL DEFAULT now(),
  targets     text[]      NOT NULL,             -- whose lists were read to their end
  problems    text[]      NOT NULL,             -- what of the others was not
  failures    bigint      NOT NULL,
  by_status   text        NOT NULL CHECK (by_status::json IS NOT NULL),
  PRIMARY KEY (org_id, digest_id)
);
CREATE INDEX failure_digests_ages ON failure_digests (finished_at);

-- Each failure once, in the first digest that saw it. A digest's rows come before it does.
CREATE TABLE digest_failures (
  org_id          integer     NOT NULL,         -- of the submission; of an unknown one, the first organisation
  identity        bytea       NOT NULL,         -- a hash of what tells it from others
  digest_id       bigint      NOT NULL,
  target          text        NOT NULL,
  action_type     text        NOT NULL,
  status          text        NOT NULL,         -- the provider's word
  detail          text        NOT NULL,
  failed_at       timestamptz,
  provider_ref    text        NOT NULL,
  reference       text        NOT NULL,         -- ours, as the provider repeats it
  shard           smallint,
  submission_id   bigint,                       -- null: it is of no submission that is known
  client_ref      text,
  PRIMARY KEY (org_id, identity)
);
CREATE INDEX digest_failures_of ON digest_failures (digest_id, org_id);

-- Pipelines' submissions that ended, or failed and were left, long ago: out of the tables that work is done in.
CREATE TABLE archived_submissions (
  shard         smallint    NOT NULL,
  submission_id bigint      NOT NULL,
  org_id        integer     NOT NULL,
  client_ref    text        NOT NULL,
  pipeline      text        NOT NULL,
  state         text        NOT NULL,
  reference     text,
  metadata      text        NOT NULL CHECK (metadata::json IS NOT NULL),
  created_at    timestamptz NOT NULL,
  blocked_at    timestamptz,
  ended_at      timestamptz,
  archived_at   timestamptz NOT NULL DEFAULT now(),
  record        text        NOT NULL CHECK (record::json IS NOT NULL),
  PRIMARY KEY (shard, submission_id)
);
CREATE INDEX archived_submissions_newest ON archived_submissions (org_id, archived_at DESC, submission_id DESC);
CREATE INDEX archived_submissions_names ON archived_submissions (org_id, client_ref);
CREATE INDEX archived_submissions_references ON archived_submissions (org_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX archived_submissions_ages ON archived_submissions (archived_at);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('failure_checks',        'SELECT, INSERT, UPDATE',         'SELECT', NULL, NULL),
  ('failure_check_targets', 'SELECT, INSERT, UPDATE',         'SELECT', NULL, NULL),
  ('failure_digests',       'SELECT, INSERT, DELETE',         'SELECT', NULL, 'SELECT'),
  ('digest_failures',       'SELECT, INSERT, DELETE',         'SELECT', 'submission', 'SELECT'),
  ('archived_submissions',  'SELECT',                         'SELECT', 'submission', 'SELECT');  -- so the reader sees none of them

-- What is stored as bytes, as JSON: what is none comes as a text of its hexadecimal digits.
CREATE FUNCTION as_json(bytes bytea) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8')::json;
EXCEPTION WHEN data_exception THEN
  RETURN to_json(encode(bytes, 'hex'));
END $$;

-- Times as the API writes them.
CREATE FUNCTION rfc3339(t timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Everything about a pipeline's submission, in one value.
CREATE FUNCTION archive_record(of_shard smallint, of_submission bigint) RETURNS json LANGUAGE sql STABLE AS $$
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
        SELECT DISTINCT ON (t.state) t.state, d.result FROM pipeline_steps t
        JOIN d ON d.action_order >= t.first_action AND d.action_order < t.first_action + cardinality(t.actions)
        WHERE t.shard = of_shard AND t.submission_id = of_submission AND d.result IS NOT NULL
        ORDER BY t.state, t.step DESC, d.action_order DESC, d.replay DESC) r),
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
$$;

-- Moves submissions into the archive that have ended, or waited for a replay, for so long (null: these are not moved). Left out are those
-- that somebody has locked, or whose delivery a host has claimed. Attempts and audit stay where they are. Answers how many were moved.
CREATE FUNCTION archive_submissions(of_shard smallint, ids bigint[], ended interval, blocked interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
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
  DELETE FROM pipeline_steps WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_submissions WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM submissions WHERE shard = of_shard AND id = ANY (ours);
  RETURN cardinality(ours);
END $$;

-- Deletes up to `rows` of what was archived longer than `age` ago. Answers how many.
CREATE FUNCTION delete_archived(age interval, rows integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$
  WITH gone AS (
    DELETE FROM archived_submissions a USING (
      SELECT shard, submission_id FROM archived_submissions WHERE archived_at < now() - age
      ORDER BY archived_at LIMIT rows FOR UPDATE SKIP LOCKED) old
    WHERE a.shard = old.shard AND a.submission_id = old.submission_id RETURNING 1)
  SELECT count(*) FROM gone
$$;

DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION archive_record(smallint, bigint) SET search_path TO %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION archive_submissions(smallint, bigint[], interval, interval) SET search_path TO %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION delete_archived(interval, integer) SET search_path TO %I, pg_temp', current_schema());
END $$;
