-- Checks of what providers failed to deliver, and their digests. Used by failure_check_store.cpp.

-- name: failure_check_state
-- Reads the database's time, the plan, and the check that is under way. It is free when nobody does it: no lease holds, and one that ends
-- later than it could have begun is from before a step of the clock. And the schedule of the newest host that is heard.
-- `:lease`: milliseconds.
-- takes: lease
-- returns: now time, schedule text?, next time?, last_tick time?, tick time?, begun time?, tries number?, is_free flag
-- returns: host text?, newest_schedule text?
SELECT micros(now()) AS now,
       c.schedule,
       micros(c.next_at) AS next,
       micros(c.last_tick) AS last_tick,
       micros(c.tick) AS tick,
       micros(c.begun_at) AS begun,
       c.tries,
       coalesce(c.lease_until <= now() OR c.lease_until > now() + :lease::bigint * interval '1 millisecond', true) AS is_free,
       c.host,
       (SELECT s.schedule FROM failure_check_hosts s JOIN heard_hosts USING (host_id) ORDER BY host_id DESC LIMIT 1) AS newest_schedule
FROM (SELECT) AS one LEFT JOIN failure_checks c ON true;

-- name: tell_failure_schedule
-- Tells the host's schedule, and forgets those of hosts that are gone.
-- takes: host, schedule
WITH gone AS (
  DELETE FROM failure_check_hosts s
  WHERE s.host_id <> :host AND NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = s.host_id))
INSERT INTO failure_check_hosts (host_id, schedule) VALUES (:host, :schedule)
ON CONFLICT (host_id) DO UPDATE SET schedule = excluded.schedule;

-- name: failure_schedules
-- Lists the hosts' schedules, the newest host's first.
-- returns: name text, schedule text
SELECT h.name, s.schedule FROM failure_check_hosts s JOIN hosts h USING (host_id) ORDER BY host_id DESC;

-- name: plan_failure_check
-- Writes a schedule and its next tick where the plan is still the one that was seen, or there was none. A latest tick that lies more than
-- a week ahead was read from a clock that went wrong, and is forgotten.
-- `:next` and `:seen_next`: ticks in microseconds, or null. `:seen_schedule` may be null too.
-- takes: schedule, next, seen_schedule, seen_next
INSERT INTO failure_checks AS c (schedule, next_at) VALUES (:schedule, at_micros(:next::bigint))
ON CONFLICT (only_row) DO UPDATE SET schedule = excluded.schedule, next_at = excluded.next_at,
  last_tick = CASE WHEN c.last_tick <= now() + interval '7 days' THEN c.last_tick END
WHERE c.schedule = :seen_schedule AND c.next_at IS NOT DISTINCT FROM at_micros(:seen_next::bigint);

-- name: begin_failure_check
-- Takes a tick that is due: one caller does, and none of an earlier tick. A check that is under way must be free; it goes on as that of
-- the new tick. Answers its row, or none.
-- `:seen_next` (the next tick as it was seen), `:tick` (to be run) and `:next` in microseconds, `:lease` in milliseconds.
-- takes: seen_next, tick, next, host, lease
-- returns: token number?, tick time, begun time, tries number, now time
UPDATE failure_checks SET tick = at_micros(:tick::bigint), last_tick = at_micros(:tick::bigint), next_at = at_micros(:next::bigint),
  by_hand = false, begun_at = now(), digest_id = coalesce(digest_id, nextval('object_ids')), token = nextval('object_ids'), host = :host,
  lease_until = now() + :lease::bigint * interval '1 millisecond', tries = CASE WHEN tick IS NULL THEN 1 ELSE tries + 1 END
WHERE next_at = at_micros(:seen_next::bigint) AND next_at <= now() AND (last_tick IS NULL OR last_tick < at_micros(:tick::bigint))
  AND (tick IS NULL OR lease_until <= now() OR lease_until > now() + :lease::bigint * interval '1 millisecond')
RETURNING token, micros(tick) AS tick, micros(begun_at) AS begun, tries, micros(now()) AS now;

-- name: resume_failure_check
-- Goes on with a check that nobody does any more. Answers its row, or none.
-- `:lease`: milliseconds.
-- takes: host, lease
-- returns: token number?, tick time, begun time, tries number, now time
UPDATE failure_checks SET token = nextval('object_ids'), host = :host,
  lease_until = now() + :lease::bigint * interval '1 millisecond', tries = tries + 1
WHERE tick IS NOT NULL AND (lease_until <= now() OR lease_until > now() + :lease::bigint * interval '1 millisecond')
RETURNING token, micros(tick) AS tick, micros(begun_at) AS begun, tries, micros(now()) AS now;

-- name: begin_failure_check_by_hand
-- Begins a check now, or goes on with one that nobody does any more. Answers its row, or none while somebody does one.
-- `:lease`: milliseconds.
-- takes: host, lease
-- returns: token number?, tick time, begun time, tries number, now time
UPDATE failure_checks SET tick = coalesce(tick, now()), by_hand = tick IS NULL OR by_hand, begun_at = now(),
  digest_id = coalesce(digest_id, nextval('object_ids')), token = nextval('object_ids'), host = :host,
  lease_until = now() + :lease::bigint * interval '1 millisecond', tries = 1
WHERE tick IS NULL OR lease_until <= now() OR lease_until > now() + :lease::bigint * interval '1 millisecond'
RETURNING token, micros(tick) AS tick, micros(begun_at) AS begun, tries, micros(now()) AS now;

-- name: failure_check_since
-- Reads until when a target's failures are known. No row: it was never checked.
-- takes: target
-- returns: checked_until time
SELECT micros(checked_until) AS checked_until FROM failure_check_targets WHERE target = :target;

-- name: store_failures
-- Stores a page of failures that no digest has yet, each with its submission, and prolongs the lease. A submission is found by the
-- reference that we gave: it is that of a pipeline's submission, or the id under which it was handed in. Of several, that counts
-- whose delivery has the provider's own reference, then one with a delivery of this action type, then the newest. Where two organisations
-- are as likely, it is neither's. What was found is in the submission's audit as well. Answers whether the check is still the caller's.
-- `:lease`: milliseconds. One element of each array per failure: `:identities` in hex, `:times` in microseconds or null,
-- `:provider_refs` the provider's, `:refs` ours.
-- takes: token, lease, target, action_type, identities, statuses, details, times, provider_refs, refs
-- returns: count number
WITH mine AS (
  UPDATE failure_checks SET lease_until = now() + :lease::bigint * interval '1 millisecond'
  WHERE token = :token RETURNING digest_id),
found AS MATERIALIZED (
  SELECT m.digest_id, f.* FROM mine m,
    unnest(:identities::text[], :statuses::text[], :details::text[], :times::bigint[], :provider_refs::text[], :refs::text[])
      AS f(identity, status, detail, at, provider_ref, reference)
  WHERE NOT EXISTS (SELECT FROM organisations o JOIN digest_failures d ON d.org_id = o.org_id AND d.identity = decode(f.identity, 'hex'))),
stored AS (
  INSERT INTO digest_failures (org_id, identity, digest_id, target, action_type, status, detail, failed_at, provider_ref, reference, shard,
                               submission_id, client_ref)
  SELECT coalesce(link.org_id, 1), decode(f.identity, 'hex'), f.digest_id, :target, :action_type, f.status, f.detail, at_micros(f.at),
         f.provider_ref, f.reference, link.shard, link.submission_id, link.client_ref
  FROM found f LEFT JOIN LATERAL (
    SELECT r.* FROM (
      SELECT k.*, min(org_id) OVER same AS first_org, max(org_id) OVER same AS last_org FROM (
        SELECT c.*, (SELECT coalesce(max(CASE WHEN d.provider_ref = f.provider_ref THEN 2 ELSE 1 END), 0) FROM deliveries d
                     WHERE d.shard = c.shard AND d.org_id = c.org_id AND d.submission_id = c.submission_id
                       AND d.id <> d.submission_id AND d.action_type = :action_type) AS likely
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
SELECT count(*) AS count FROM mine;

-- name: put_off_failure_check
-- Lets go of a check that could not end, until it is tried again. Answers whether it was the caller's.
-- `:wait`: milliseconds.
-- takes: token, wait
-- returns: count number
WITH mine AS (
  UPDATE failure_checks SET token = NULL, host = NULL, lease_until = now() + :wait::bigint * interval '1 millisecond', tries = 0
  WHERE token = :token RETURNING 1)
SELECT count(*) AS count FROM mine;

-- name: digest_so_far
-- Counts what a check has found, by organisation and status.
-- takes: token
-- returns: org_id number, status text, failures number, linked number
SELECT f.org_id, f.status, count(*) AS failures, count(*) FILTER (WHERE f.submission_id IS NOT NULL) AS linked
FROM failure_checks c JOIN digest_failures f ON f.digest_id = c.digest_id
WHERE c.token = :token
GROUP BY f.org_id, f.status ORDER BY f.org_id, count(*) DESC, f.status;

-- name: first_failures
-- Reads the first failures of an organisation that a check has found.
-- takes: token, org, most
-- returns: status text, target text, reference text, provider_ref text, client_ref text, detail text, failed time?
SELECT f.status,
       f.target,
       f.reference,
       f.provider_ref,
       coalesce(f.client_ref, '') AS client_ref,
       f.detail,
       micros(f.failed_at) AS failed
FROM failure_checks c JOIN digest_failures f ON f.digest_id = c.digest_id AND f.org_id = :org
WHERE c.token = :token ORDER BY f.failed_at DESC NULLS LAST, f.identity LIMIT :most;

-- name: end_failure_check
-- Ends a check: from now on its token is nobody's. Answers its digest and what it was begun for, or no row if it is not the caller's.
-- takes: token
-- returns: digest_id number?, tick time, by_hand flag, begun time
UPDATE failure_checks c SET tick = NULL, token = NULL, host = NULL, lease_until = NULL, digest_id = NULL, tries = 0
FROM (SELECT * FROM failure_checks WHERE token = :token FOR UPDATE) was
WHERE c.only_row = was.only_row
RETURNING was.digest_id, micros(was.tick) AS tick, was.by_hand, micros(was.begun_at) AS begun;

-- name: store_digest
-- Stores the digest of an organisation.
-- `:tick` and `:begun` in microseconds.
-- takes: org, digest, tick, by_hand, begun, targets, problems
INSERT INTO failure_digests (org_id, digest_id, tick, by_hand, begun_at, targets, problems, failures, by_status)
SELECT :org::integer, :digest::bigint, at_micros(:tick::bigint), :by_hand::boolean, at_micros(:begun::bigint), :targets::text[],
       :problems::text[], coalesce(sum(n), 0), coalesce(json_object_agg(status, n ORDER BY n DESC, status), '{}')::text
FROM (SELECT status, count(*) AS n FROM digest_failures WHERE digest_id = :digest AND org_id = :org GROUP BY status) s;

-- name: note_checked
-- Notes until when targets' failures are known.
-- `:times`: microseconds, one for each target.
-- takes: targets, times
INSERT INTO failure_check_targets (target, checked_until)
SELECT target, at_micros(at) FROM unnest(:targets::text[], :times::bigint[]) AS t(target, at)
ON CONFLICT (target) DO UPDATE SET checked_until = excluded.checked_until;

-- name: forget_digests
-- Deletes digests, with their failures, that are older than this.
-- `:age`: milliseconds.
-- takes: age
WITH old AS (
  DELETE FROM failure_digests WHERE finished_at < now() - :age::bigint * interval '1 millisecond' RETURNING org_id, digest_id)
DELETE FROM digest_failures f USING old WHERE f.digest_id = old.digest_id AND f.org_id = old.org_id;

-- name: failure_digests
-- Lists an organisation's digests, the newest first.
-- takes: org, most
-- returns: digest_id number, tick time, by_hand flag, begun time, finished time, targets text, problems text, failures number
-- returns: by_status text
SELECT digest_id,
       micros(tick) AS tick,
       by_hand,
       micros(begun_at) AS begun,
       micros(finished_at) AS finished,
       to_json(targets)::text AS targets,
       to_json(problems)::text AS problems,
       failures,
       by_status
FROM failure_digests WHERE org_id = :org ORDER BY digest_id DESC LIMIT :most;

-- name: failures_of_digest
-- Lists the failures of a digest, the latest first.
-- takes: org, digest, most
-- returns: target text, action_type text, status text, detail text, failed time?, provider_ref text, reference text
-- returns: client_ref text
SELECT target,
       action_type,
       status,
       detail,
       micros(failed_at) AS failed,
       provider_ref,
       reference,
       coalesce(client_ref, '') AS client_ref
FROM digest_failures WHERE digest_id = :digest AND org_id = :org ORDER BY failed_at DESC NULLS LAST, identity LIMIT :most;
