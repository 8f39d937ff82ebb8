-- Checks of what providers failed to deliver, and their digests. Used by failure_check_store.cpp.

-- name: failure_check_state
-- Reads the database's time, the plan, and the check that is under way. It is free when nobody does it: no lease holds, and one that ends
-- later than it could have begun is from before a step of the clock. And the schedule of the newest host that is heard.
-- $1 milliseconds of a lease
SELECT micros(now()), c.schedule, micros(c.next_at), micros(c.last_tick), micros(c.tick), micros(c.begun_at), c.tries,
       coalesce(c.lease_until <= now() OR c.lease_until > now() + $1::bigint * interval '1 millisecond', true), c.host,
       (SELECT s.schedule FROM failure_check_hosts s JOIN heard_hosts USING (host_id) ORDER BY host_id DESC LIMIT 1)
FROM (SELECT) AS one LEFT JOIN failure_checks c ON true;

-- name: tell_failure_schedule
-- Tells the host's schedule, and forgets those of hosts that are gone.
-- $1 host, $2 schedule
WITH gone AS (DELETE FROM failure_check_hosts s WHERE s.host_id <> $1 AND NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = s.host_id))
INSERT INTO failure_check_hosts (host_id, schedule) VALUES ($1, $2) ON CONFLICT (host_id) DO UPDATE SET schedule = excluded.schedule;

-- name: failure_schedules
-- Lists the hosts' schedules, the newest host's first.
SELECT h.name, s.schedule FROM failure_check_hosts s JOIN hosts h USING (host_id) ORDER BY host_id DESC;

-- name: plan_failure_check
-- Writes a schedule and its next tick where the plan is still the one that was seen, or there was none. A latest tick that lies more than
-- a week ahead was read from a clock that went wrong, and is forgotten.
-- $1 schedule, $2 next tick in microseconds or null; what was seen: $3 schedule or null, $4 next tick or null
INSERT INTO failure_checks AS c (schedule, next_at) VALUES ($1, at_micros($2::bigint))
ON CONFLICT (only_row) DO UPDATE SET schedule = excluded.schedule, next_at = excluded.next_at,
  last_tick = CASE WHEN c.last_tick <= now() + interval '7 days' THEN c.last_tick END
WHERE c.schedule = $3 AND c.next_at IS NOT DISTINCT FROM at_micros($4::bigint);

-- name: begin_failure_check
-- Takes a tick that is due: one caller does, and none of an earlier tick. A check that is under way must be free; it goes on as that of
-- the new tick. Answers its row, or none.
-- $1 next tick as it was seen, $2 the tick to be run, $3 the next one, all in microseconds; $4 who, $5 milliseconds of the lease
UPDATE failure_checks SET tick = at_micros($2::bigint), last_tick = at_micros($2::bigint), next_at = at_micros($3::bigint), by_hand = false,
  begun_at = now(), digest_id = coalesce(digest_id, nextval('object_ids')), token = nextval('object_ids'), host = $4,
  lease_until = now() + $5::bigint * interval '1 millisecond', tries = CASE WHEN tick IS NULL THEN 1 ELSE tries + 1 END
WHERE next_at = at_micros($1::bigint) AND next_at <= now() AND (last_tick IS NULL OR last_tick < at_micros($2::bigint))
  AND (tick IS NULL OR lease_until <= now() OR lease_until > now() + $5::bigint * interval '1 millisecond')
RETURNING token, micros(tick), micros(begun_at), tries, micros(now());

-- name: resume_failure_check
-- Goes on with a check that nobody does any more. Answers its row, or none.
-- $1 who, $2 milliseconds of the lease
UPDATE failure_checks SET token = nextval('object_ids'), host = $1, lease_until = now() + $2::bigint * interval '1 millisecond',
  tries = tries + 1
WHERE tick IS NOT NULL AND (lease_until <= now() OR lease_until > now() + $2::bigint * interval '1 millisecond')
RETURNING token, micros(tick), micros(begun_at), tries, micros(now());

-- name: begin_failure_check_by_hand
-- Begins a check now, or goes on with one that nobody does any more. Answers its row, or none while somebody does one.
-- $1 who, $2 milliseconds of the lease
UPDATE failure_checks SET tick = coalesce(tick, now()), by_hand = tick IS NULL OR by_hand, begun_at = now(),
  digest_id = coalesce(digest_id, nextval('object_ids')), token = nextval('object_ids'), host = $1,
  lease_until = now() + $2::bigint * interval '1 millisecond', tries = 1
WHERE tick IS NULL OR lease_until <= now() OR lease_until > now() + $2::bigint * interval '1 millisecond'
RETURNING token, micros(tick), micros(begun_at), tries, micros(now());

-- name: failure_check_since
-- Reads until when a target's failures are known. No row: it was never checked.
-- $1 target
SELECT micros(checked_until) FROM failure_check_targets WHERE target = $1;

-- name: store_failures
-- Stores a page of failures that no digest has yet, each with its submission, and prolongs the lease. A submission is found by the
-- reference that we gave: it is that of a pipeline's submission, or the id under which it was handed in. Of several, that counts
-- whose delivery has the provider's own reference, then one with a delivery of this action type, then the newest. Where two organisations
-- are as likely, it is neither's. What was found is in the submission's audit as well. Answers whether the check is still the caller's.
-- $1 token, $2 milliseconds of the lease, $3 target, $4 action type
-- Per failure: $5 hash, $6 status, $7 detail, $8 microseconds or null, $9 the provider's reference, $10 ours
WITH mine AS (
  UPDATE failure_checks SET lease_until = now() + $2::bigint * interval '1 millisecond' WHERE token = $1 RETURNING digest_id),
found AS MATERIALIZED (
  SELECT m.digest_id, f.* FROM mine m,
    unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[]) AS f(identity, status, detail, at, provider_ref, reference)
  WHERE NOT EXISTS (SELECT FROM organisations o JOIN digest_failures d ON d.org_id = o.org_id AND d.identity = decode(f.identity, 'hex'))),
stored AS (
  INSERT INTO digest_failures (org_id, identity, digest_id, target, action_type, status, detail, failed_at, provider_ref, reference, shard,
                               submission_id, client_ref)
  SELECT coalesce(link.org_id, 1), decode(f.identity, 'hex'), f.digest_id, $3, $4, f.status, f.detail, at_micros(f.at), f.provider_ref,
         f.reference, link.shard, link.submission_id, link.client_ref
  FROM found f LEFT JOIN LATERAL (
    SELECT r.* FROM (
      SELECT k.*, min(org_id) OVER same AS first_org, max(org_id) OVER same AS last_org FROM (
        SELECT c.*, (SELECT coalesce(max(CASE WHEN d.provider_ref = f.provider_ref THEN 2 ELSE 1 END), 0) FROM deliveries d
                     WHERE d.shard = c.shard AND d.org_id = c.org_id AND d.submission_id = c.submission_id
                       AND d.id <> d.submission_id AND d.action_type = $4) AS likely
        FROM (
          SELECT s.org_id, s.shard, s.id AS submission_id, s.client_ref FROM organisations o
          JOIN pipeline_submissions p ON p.org_id = o.org_id AND p.reference = f.reference
          JOIN submissions s ON s.shard = p.shard AND s.id = p.submission_id
          UNION
          SELECT a.org_id, a.shard, a.submission_id, a.client_ref FROM organisations o
          JOIN archived_submissions a ON a.org_id = o.org_id AND a.reference = f.reference
          UNION
          SELECT s.org_id, s.shard, s.id, s.client_ref FROM installation i, generate_series(0, i.shards - 1) AS n(shard)
          JOIN submissions s ON s.shard = n.shard AND s.org_id = 1 AND s.kind IN ('intent', 'pipeline') AND s.client_ref = f.reference) c) k
      WINDOW same AS (PARTITION BY likely)) r
    ORDER BY likely DESC, submission_id DESC LIMIT 1) link ON link.first_org = link.last_org
  WHERE true
  ON CONFLICT DO NOTHING
  RETURNING org_id, shard, submission_id, target, action_type, status, failed_at, provider_ref),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT shard, submission_id, clock_timestamp(), org_id, 'not_delivered', 'failure_check', 'waybill', 'system',
         jsonb_build_object('target', target, 'actionType', action_type, 'status', status, 'failedAt', failed_at, 'providerRef', provider_ref)
  FROM stored WHERE submission_id IS NOT NULL)
SELECT count(*) FROM mine;

-- name: put_off_failure_check
-- Lets go of a check that could not end, until it is tried again. Answers whether it was the caller's.
-- $1 token, $2 milliseconds
WITH mine AS (
  UPDATE failure_checks SET token = NULL, host = NULL, lease_until = now() + $2::bigint * interval '1 millisecond', tries = 0
  WHERE token = $1 RETURNING 1)
SELECT count(*) FROM mine;

-- name: digest_so_far
-- Counts what a check has found, by organisation and status.
-- $1 token
SELECT f.org_id, f.status, count(*), count(*) FILTER (WHERE f.submission_id IS NOT NULL) FROM failure_checks c
JOIN digest_failures f ON f.digest_id = c.digest_id WHERE c.token = $1
GROUP BY f.org_id, f.status ORDER BY f.org_id, count(*) DESC, f.status;

-- name: first_failures
-- Reads the first failures of an organisation that a check has found.
-- $1 token, $2 organisation, $3 rows
SELECT f.status, f.target, f.reference, f.provider_ref, coalesce(f.client_ref, ''), f.detail, micros(f.failed_at)
FROM failure_checks c JOIN digest_failures f ON f.digest_id = c.digest_id AND f.org_id = $2
WHERE c.token = $1 ORDER BY f.failed_at DESC NULLS LAST, f.identity LIMIT $3;

-- name: end_failure_check
-- Ends a check: from now on its token is nobody's. Answers its digest and what it was begun for, or no row if it is not the caller's.
-- $1 token
UPDATE failure_checks c SET tick = NULL, token = NULL, host = NULL, lease_until = NULL, digest_id = NULL, tries = 0
FROM (SELECT * FROM failure_checks WHERE token = $1 FOR UPDATE) was
WHERE c.only_row = was.only_row RETURNING was.digest_id, micros(was.tick), was.by_hand, micros(was.begun_at);

-- name: store_digest
-- Stores the digest of an organisation.
-- $1 organisation, $2 digest, $3 tick in microseconds, $4 whether it was begun by hand, $5 begin in microseconds, $6 targets, $7 problems
INSERT INTO failure_digests (org_id, digest_id, tick, by_hand, begun_at, targets, problems, failures, by_status)
SELECT $1::integer, $2::bigint, at_micros($3::bigint), $4::boolean, at_micros($5::bigint), $6::text[], $7::text[], coalesce(sum(n), 0),
       coalesce(json_object_agg(status, n ORDER BY n DESC, status), '{}')::text
FROM (SELECT status, count(*) AS n FROM digest_failures WHERE digest_id = $2 AND org_id = $1 GROUP BY status) s;

-- name: note_checked
-- Notes until when targets' failures are known.
-- $1 targets; $2 microseconds, one for each
INSERT INTO failure_check_targets (target, checked_until) SELECT target, at_micros(at) FROM unnest($1::text[], $2::bigint[]) AS t(target, at)
ON CONFLICT (target) DO UPDATE SET checked_until = excluded.checked_until;

-- name: forget_digests
-- Deletes digests, with their failures, that are older than this.
-- $1 milliseconds
WITH old AS (
  DELETE FROM failure_digests WHERE finished_at < now() - $1::bigint * interval '1 millisecond' RETURNING org_id, digest_id)
DELETE FROM digest_failures f USING old WHERE f.digest_id = old.digest_id AND f.org_id = old.org_id;

-- name: failure_digests
-- Lists an organisation's digests, the newest first.
-- $1 organisation, $2 rows
SELECT digest_id, micros(tick), by_hand, micros(begun_at), micros(finished_at), to_json(targets)::text, to_json(problems)::text, failures,
       by_status
FROM failure_digests WHERE org_id = $1 ORDER BY digest_id DESC LIMIT $2;

-- name: failures_of_digest
-- Lists the failures of a digest, the latest first.
-- $1 organisation, $2 digest, $3 rows
SELECT target, action_type, status, detail, micros(failed_at), provider_ref, reference, coalesce(client_ref, '')
FROM digest_failures WHERE digest_id = $2 AND org_id = $1 ORDER BY failed_at DESC NULLS LAST, identity LIMIT $3;
