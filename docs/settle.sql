-- The two statements that settle, to be read: `./dev schema` makes this file from the template `settle` in
-- host/store/queue/settle.sql and the columns in host/store/queue/settle_statement.cpp. `settle` is for a batch that agrees in
-- every column that is no array here; `settle_sorts` has arrays of those, and each item says which element is its own.

-- settle
WITH gone AS (
  DELETE FROM ready r USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::text[], $8::bigint[],
      $9::bigint[], $10::text[], $11::jsonb[], $12::jsonb[], $13::bytea[], $14::text[], $15::text[]) AS f(delivery, token, started,
      finished, code, provider_ref, due, ended, error, result, answer, sent_hash, signed_with, progress)
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND $16::delivery_status <> 'due'
  RETURNING f.delivery, f.token, at_micros(f.started) AS started_at, at_micros(f.finished) AS finished_at, f.code AS code,
      f.provider_ref AS provider_ref, f.error AS error, f.answer AS answer, f.sent_hash AS sent_hash, f.signed_with AS signed_with,
      at_micros(coalesce(f.ended, f.finished)) AS ended_at,
            coalesce(f.result, r.progress::jsonb) AS result, r.org_id, r.submission_id, r.action_order, r.replay, r.route_id),
again AS (
  UPDATE ready r SET status = 'due', due_at = at_micros(f.due), attempt_count = $17::integer, lease_lost = $18::smallint,
      uncounted = $19::integer, maybe_sent = $20::boolean, queued = $18::smallint = 0, progress = coalesce(f.progress,
      r.progress),
                     claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::text[], $8::bigint[], $9::bigint[],
      $10::text[], $11::jsonb[], $12::jsonb[], $13::bytea[], $14::text[], $15::text[]) AS f(delivery, token, started, finished,
      code, provider_ref, due, ended, error, result, answer, sent_hash, signed_with, progress)
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND $16::delivery_status = 'due'
  RETURNING f.delivery, f.token, at_micros(f.started) AS started_at, at_micros(f.finished) AS finished_at, f.code AS code,
      f.provider_ref AS provider_ref, f.error AS error, f.answer AS answer, f.sent_hash AS sent_hash, f.signed_with AS signed_with,
      r.org_id, r.submission_id),
attempt AS (
  INSERT INTO attempts (shard, delivery_id, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash,
      signed_with, number, outcome, reason, counts, maybe_sent)
  SELECT $1::smallint, delivery, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash, signed_with,
      $23::integer, $24::text, $25::text, $26::boolean, $27::boolean
  FROM (SELECT delivery, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash,
      signed_with FROM gone UNION ALL SELECT delivery, org_id, started_at, finished_at, code, provider_ref, error, answer,
      sent_hash, signed_with FROM again) found
  WHERE $23::integer IS NOT NULL),
delivery AS (
  INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, replay, route_id, result, ended_at, provider_ref, status,
      attempt_count, reason, action_type)
  SELECT $1::smallint, delivery, org_id, submission_id, action_order, replay, route_id, result, ended_at, provider_ref,
      $16::delivery_status, $17::integer, $21::text, $22::text FROM gone),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, actor_type, action, from_state, to_state, trigger,
      actor, metadata)
  SELECT $1::smallint, submission_id, ended_at, org_id, delivery, 'worker', $28::text, $29::text, $30::text, $31::text, $32::text,
      $33::jsonb FROM gone WHERE $28::text IS NOT NULL)
SELECT delivery, token, submission_id FROM gone UNION ALL SELECT delivery, token, submission_id FROM again;

-- settle_sorts
WITH gone AS (
  DELETE FROM ready r USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::text[], $8::bigint[],
      $9::bigint[], $10::text[], $11::jsonb[], $12::jsonb[], $13::bytea[], $14::text[], $15::text[], $34::integer[]) AS f(delivery,
      token, started, finished, code, provider_ref, due, ended, error, result, answer, sent_hash, signed_with, progress, sort)
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND ($16::delivery_status[])[sort] <> 'due'
  RETURNING f.delivery, f.token, at_micros(f.started) AS started_at, at_micros(f.finished) AS finished_at, f.code AS code,
      f.provider_ref AS provider_ref, f.error AS error, f.answer AS answer, f.sent_hash AS sent_hash, f.signed_with AS signed_with,
      f.sort, at_micros(coalesce(f.ended, f.finished)) AS ended_at,
            coalesce(f.result, r.progress::jsonb) AS result, r.org_id, r.submission_id, r.action_order, r.replay, r.route_id),
again AS (
  UPDATE ready r SET status = 'due', due_at = at_micros(f.due), attempt_count = ($17::integer[])[sort],
      lease_lost = ($18::smallint[])[sort], uncounted = ($19::integer[])[sort], maybe_sent = ($20::boolean[])[sort],
      queued = ($18::smallint[])[sort] = 0, progress = coalesce(f.progress, r.progress),
                     claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::text[], $8::bigint[], $9::bigint[],
      $10::text[], $11::jsonb[], $12::jsonb[], $13::bytea[], $14::text[], $15::text[], $34::integer[]) AS f(delivery, token,
      started, finished, code, provider_ref, due, ended, error, result, answer, sent_hash, signed_with, progress, sort)
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND ($16::delivery_status[])[sort] = 'due'
  RETURNING f.delivery, f.token, at_micros(f.started) AS started_at, at_micros(f.finished) AS finished_at, f.code AS code,
      f.provider_ref AS provider_ref, f.error AS error, f.answer AS answer, f.sent_hash AS sent_hash, f.signed_with AS signed_with,
      f.sort, r.org_id, r.submission_id),
attempt AS (
  INSERT INTO attempts (shard, delivery_id, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash,
      signed_with, number, outcome, reason, counts, maybe_sent)
  SELECT $1::smallint, delivery, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash, signed_with,
      ($23::integer[])[sort], ($24::text[])[sort], ($25::text[])[sort], ($26::boolean[])[sort], ($27::boolean[])[sort]
  FROM (SELECT delivery, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash, signed_with,
      sort FROM gone UNION ALL SELECT delivery, org_id, started_at, finished_at, code, provider_ref, error, answer, sent_hash,
      signed_with, sort FROM again) found
  WHERE ($23::integer[])[sort] IS NOT NULL),
delivery AS (
  INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, replay, route_id, result, ended_at, provider_ref, status,
      attempt_count, reason, action_type)
  SELECT $1::smallint, delivery, org_id, submission_id, action_order, replay, route_id, result, ended_at, provider_ref,
      ($16::delivery_status[])[sort], ($17::integer[])[sort], ($21::text[])[sort], ($22::text[])[sort] FROM gone),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, actor_type, action, from_state, to_state, trigger,
      actor, metadata)
  SELECT $1::smallint, submission_id, ended_at, org_id, delivery, 'worker', ($28::text[])[sort], ($29::text[])[sort],
      ($30::text[])[sort], ($31::text[])[sort], ($32::text[])[sort],
      ($33::jsonb[])[sort] FROM gone WHERE ($28::text[])[sort] IS NOT NULL)
SELECT delivery, token, submission_id FROM gone UNION ALL SELECT delivery, token, submission_id FROM again;
