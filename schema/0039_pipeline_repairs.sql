-- Runs beside: 24
--
-- Repairs of pipelines' submissions that are blocked: an operator runs them from a stage again, gives a stage its result, or ends them. A host
-- of an earlier version does not know what was given: repair nothing while one runs.
--
-- Locks: `pipeline_submissions`, for a moment.

-- The moves that an operator ordered and the pipeline's file does not have. Written in the transaction that moves, before it does.
CREATE TABLE pipeline_repairs (
  shard         smallint    NOT NULL,
  submission_id bigint      NOT NULL,
  step          smallint    NOT NULL,  -- the new one
  org_id        integer     NOT NULL,
  from_state    text        NOT NULL,
  to_state      text        NOT NULL,
  made_at       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, submission_id, step)
);

-- What an action of a step was given by an operator: what it is sent, or its result.
CREATE TABLE pipeline_given (
  shard         smallint NOT NULL,
  submission_id bigint   NOT NULL,
  step          smallint NOT NULL,
  place         smallint NOT NULL,  -- in the step's actions, from 1 on
  org_id        integer  NOT NULL,
  input         text,               -- JSON; null: what the pipeline says
  is_done       boolean  NOT NULL,  -- it counts as accepted
  result        text,               -- JSON, where it is done; null: none
  PRIMARY KEY (shard, submission_id, step, place)
);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('pipeline_given',   'SELECT, INSERT, UPDATE', 'SELECT', 'submission', 'SELECT, INSERT, UPDATE'),
  ('pipeline_repairs', 'SELECT, INSERT',         'SELECT', 'submission', 'SELECT, INSERT');

CREATE OR REPLACE FUNCTION check_move() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$;
-- The record of an archived submission, with the results that were given.
CREATE OR REPLACE FUNCTION archive_record(of_shard smallint, of_submission bigint)
 RETURNS json
 LANGUAGE sql
 STABLE
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

-- Moves submissions into the archive, with what repairs left of them.
CREATE OR REPLACE FUNCTION archive_submissions(of_shard smallint, ids bigint[], ended interval, blocked interval)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
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

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['check_move()', 'archive_record(smallint, bigint)',
                             'archive_submissions(smallint, bigint[], interval, interval)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', one, current_schema());
  END LOOP;
END $$;
