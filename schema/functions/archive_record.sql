-- The record of an archived submission, with the results that were given.
CREATE OR REPLACE FUNCTION archive_record(of_shard smallint, of_submission bigint)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path FROM CURRENT
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
