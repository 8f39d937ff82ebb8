-- Settling: what became of claimed deliveries, guarded by the claim token; outages of targets. Used by settle_statement.cpp
-- and settle_store.cpp.

-- template: settle
-- Settles a batch: deletes what has ended and makes due again what is to be retried; writes attempts, ended deliveries and
-- audit. The fencing token decides: a row whose claim_token is not the item's ($3) is not touched and not answered. Joins go by the
-- primary key (see Connection::open), however long the queue is.
--
-- settle_statement.cpp expands the braces from its list of columns into two statements: `settle`, for a batch that agrees in
-- every shared column, and `settle_sorts`. {items} is the batch as rows f; {=x} the shared value x; {kept} the columns of an
-- item that any table but `ready` gets; {found} those that `attempts` gets; {ready} the changes of `ready`; {attempts}, {deliveries} and
-- {audit} the names of these tables' columns, and with `=` their values.
-- $1 shard; the columns follow from $2 on, in the order of that list
WITH gone AS (
  DELETE FROM ready r USING {items}
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND {=status} <> 'due'
  RETURNING f.delivery, f.token{kept}, at_micros(coalesce(f.ended, f.finished)) AS ended_at,
            coalesce(f.result, r.progress::jsonb) AS result, r.org_id, r.submission_id, r.action_order, r.replay, r.route_id),
again AS (
  UPDATE ready r SET status = 'due'{ready}, queued = {=lease_lost} = 0, progress = coalesce(f.progress, r.progress),
                     claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM {items}
  WHERE r.shard = $1 AND r.delivery_id = f.delivery AND r.claim_token = f.token AND {=status} = 'due'
  RETURNING f.delivery, f.token{kept}, r.org_id, r.submission_id),
attempt AS (
  INSERT INTO attempts (shard, delivery_id, org_id{attempts})
  SELECT $1::smallint, delivery, org_id{attempts=}
  FROM (SELECT delivery, org_id{found} FROM gone UNION ALL SELECT delivery, org_id{found} FROM again) found
  WHERE {=number} IS NOT NULL),
delivery AS (
  INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, replay, route_id, result, ended_at{deliveries})
  SELECT $1::smallint, delivery, org_id, submission_id, action_order, replay, route_id, result, ended_at{deliveries=} FROM gone),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, actor_type{audit})
  SELECT $1::smallint, submission_id, ended_at, org_id, delivery, 'worker'{audit=} FROM gone WHERE {=action} IS NOT NULL)
SELECT delivery, token, submission_id FROM gone UNION ALL SELECT delivery, token, submission_id FROM again;

-- name: save_artifacts
-- Saves composed artifacts and makes their deliveries due again, if the claim token still holds. Answers the deliveries saved.
-- $1 shard; per artifact: $2 delivery, $3 claim token, $4 media type, $5 bytes
WITH made AS MATERIALIZED (
  SELECT f.*, r.place, r.org_id
  FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) AS f(delivery, token, media_type, body),
  LATERAL (SELECT ctid AS place, org_id FROM ready
           WHERE shard = $1 AND delivery_id = f.delivery AND claim_token = f.token FOR UPDATE) r),
kept AS (
  INSERT INTO artifacts (shard, delivery_id, org_id, media_type, body)
  SELECT $1::smallint, delivery, org_id, media_type, body FROM made),
again AS (
  UPDATE ready r SET status = 'due', composed = true, claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM made m WHERE r.shard = $1 AND r.ctid = m.place)
SELECT delivery FROM made;

-- name: locked_deliveries
-- Finds deliveries whose settlement would have to wait for a lock: rows that exist but cannot be locked at once. The settlement
-- of a form's delivery locks its submission too; that of a pipeline's, its submission and the row in `pipeline_submissions`. An
-- intent's delivery has the id of its submission, of which it locks nothing.
-- $1 shard, $2 deliveries
WITH free AS MATERIALIZED (
  SELECT delivery_id FROM ready WHERE shard = $1 AND delivery_id = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED),
free_form AS MATERIALIZED (
  SELECT id FROM submissions
  WHERE shard = $1 AND id = ANY (ARRAY(SELECT submission_id FROM ready WHERE shard = $1 AND delivery_id = ANY ($2::bigint[])
                                                                         AND delivery_id <> submission_id))
  FOR UPDATE SKIP LOCKED),
free_walk AS MATERIALIZED (
  SELECT submission_id FROM pipeline_submissions
  WHERE shard = $1 AND submission_id = ANY (ARRAY(SELECT submission_id FROM ready WHERE shard = $1 AND delivery_id = ANY ($2::bigint[])))
  FOR UPDATE SKIP LOCKED)
SELECT delivery_id FROM ready
WHERE shard = $1 AND delivery_id = ANY ($2::bigint[])
  AND (delivery_id NOT IN (SELECT delivery_id FROM free)
       OR (delivery_id <> submission_id AND submission_id NOT IN (SELECT id FROM free_form))
       OR (submission_id NOT IN (SELECT submission_id FROM free_walk)
           AND EXISTS (SELECT FROM pipeline_submissions p WHERE p.shard = $1 AND p.submission_id = ready.submission_id)));

-- name: blame_targets
-- Begins or prolongs outages and answers the cooldowns. A cooldown grows with its outage. All writers insert in one order, so
-- that they never wait for each other in a circle.
-- Per failure: $1 organisation, $2 target, $3 when, in microseconds; $4 cooldown asked for in microseconds, $5 reason
-- $6 the longest cooldown and $7 the shortest, in microseconds; $8 a cooldown is the outage's length so far divided by this
-- Per failure: $9 whether the destination answered
INSERT INTO target_rests AS r (org_id, target, since, until, reason, answered)
SELECT org_id, target, at_micros(min(blamed)), at_micros(max(blamed + greatest(asked, least($7::bigint, $6::bigint)))),
       (array_agg(reason ORDER BY blamed DESC, reason))[1], bool_or(answered)
FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $9::boolean[]) AS t(org_id, target, blamed, asked, reason, answered)
GROUP BY org_id, target ORDER BY org_id, target
ON CONFLICT (org_id, target) DO UPDATE SET
  since = least(r.since, excluded.since),
  until = greatest(r.until, excluded.until, excluded.since + least(greatest((excluded.since - r.since) / $8::integer,
                   $7::bigint * interval '1 microsecond'), $6::bigint * interval '1 microsecond')),
  reason = CASE WHEN excluded.since >= r.since THEN excluded.reason ELSE r.reason END,
  answered = CASE WHEN excluded.since >= r.since THEN excluded.answered ELSE r.answered END, probe_until = NULL, probe_host = NULL
RETURNING org_id, target, micros(until), reason, micros(since);

-- name: find_unreachable
-- Begins or prolongs a host's own findings, as blame_targets does with outages. Answers those that concern this host alone: the target
-- is in no outage but one of answers, there is another host (that is heard and not cut off), and none of those whose session lives found the same
-- lately: one that has just crashed may have been this one's predecessor on the same machine. No other sends to the channels that this host serves:
-- of a channel it is no longer this host's alone once it has connected to others since and had their answers. One that was refuted a while ago
-- counts as new. The probe of an outage of answers that this host had is free again.
-- Per failure: $1 organisation, $2 target, $3 when, in microseconds; $4 cooldown asked for in microseconds, $5 reason
-- $6 the longest cooldown and $7 the shortest, in microseconds; $8 a cooldown is the outage's length so far divided by this
-- $9 host; per failure: $10 whether this host made connections to others since, and had answers by them
WITH found AS (
  INSERT INTO host_findings AS f (org_id, target, host_id, since, until, reason)
  SELECT org_id, target, $9::integer, at_micros(min(blamed)),
         at_micros(max(blamed + greatest(asked, least($7::bigint, $6::bigint)))), (array_agg(reason ORDER BY blamed DESC, reason))[1]
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS t(org_id, target, blamed, asked, reason)
  GROUP BY org_id, target ORDER BY org_id, target
  ON CONFLICT (org_id, target, host_id) DO UPDATE SET
    since = least(f.since, excluded.since),
    until = greatest(f.until, excluded.until, excluded.since + least(greatest((excluded.since - f.since) / $8::integer,
                     $7::bigint * interval '1 microsecond'), $6::bigint * interval '1 microsecond')),
    reason = CASE WHEN excluded.since >= f.since THEN excluded.reason ELSE f.reason END,
    refuted_at = CASE WHEN f.refuted_at >= excluded.since - interval '10 seconds' THEN f.refuted_at END
  RETURNING org_id, target, until, reason, since),
others AS (
  SELECT host_id FROM heard_hosts h
  WHERE host_id <> $9 AND NOT EXISTS (SELECT FROM cut_off_hosts c WHERE c.host_id = h.host_id)),
freed AS (
  UPDATE target_rests SET probe_until = NULL, probe_host = NULL
  WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM target_rests r, unnest($1::int[], $2::text[]) AS t(org_id, target)
    WHERE r.org_id = t.org_id AND r.target = t.target AND r.answered AND r.probe_host = $9 FOR UPDATE OF r SKIP LOCKED)))
SELECT org_id, target, micros(until), reason, micros(since) FROM found
WHERE EXISTS (SELECT FROM others)
  AND NOT (found.target LIKE 'channel:%' AND EXISTS (
        SELECT FROM unnest($1::int[], $2::text[], $10::boolean[]) AS t(org_id, target, others_connected)
        WHERE others_connected AND t.org_id = found.org_id AND t.target = found.target))
  AND NOT EXISTS (SELECT FROM target_rests r WHERE r.org_id = found.org_id AND r.target = found.target AND NOT r.answered)
  AND NOT EXISTS (SELECT FROM host_findings o
                  WHERE o.org_id = found.org_id AND o.target = found.target AND o.host_id IN (SELECT host_id FROM others)
                    AND o.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts))
                    AND o.refuted_at IS NULL AND o.until > now() - interval '1 minute');

-- name: locked_outages
-- Finds targets whose outage, or a host's finding of which, another session holds locked: rows that exist but cannot be locked at once.
-- $1 organisations, $2 targets: one element each per target
WITH free AS MATERIALIZED (
  SELECT r.org_id, r.target FROM target_rests r
  WHERE (r.org_id, r.target) IN (SELECT * FROM unnest($1::int[], $2::text[])) FOR UPDATE SKIP LOCKED),
free_findings AS MATERIALIZED (
  SELECT f.org_id, f.target, f.host_id FROM host_findings f
  WHERE (f.org_id, f.target) IN (SELECT * FROM unnest($1::int[], $2::text[])) FOR UPDATE SKIP LOCKED)
SELECT r.org_id, r.target FROM target_rests r
WHERE (r.org_id, r.target) IN (SELECT * FROM unnest($1::int[], $2::text[]))
  AND (r.org_id, r.target) NOT IN (SELECT org_id, target FROM free)
UNION
SELECT f.org_id, f.target FROM host_findings f
WHERE (f.org_id, f.target) IN (SELECT * FROM unnest($1::int[], $2::text[]))
  AND (f.org_id, f.target, f.host_id) NOT IN (SELECT org_id, target, host_id FROM free_findings);

-- name: end_outages
-- Ends outages, unless a new one has begun since, and the finding of the host that got through. Answers the cooldowns that it deleted.
-- Per outage: $1 organisation, $2 target, $3 its beginning in microseconds, $4 the host that got through
WITH ended AS (SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[]) AS t(org_id, target, since, host_id)),
own AS (
  DELETE FROM host_findings f USING ended t
  WHERE f.org_id = t.org_id AND f.target = t.target AND f.host_id = t.host_id
  RETURNING f.org_id, f.target, f.until, f.reason, f.since),
shared AS (
  DELETE FROM target_rests r USING ended t
  WHERE r.org_id = t.org_id AND r.target = t.target AND r.since = at_micros(t.since)
  RETURNING r.org_id, r.target, r.until, r.reason, r.since)
SELECT org_id, target, micros(until), reason, micros(since) FROM shared
UNION ALL
SELECT org_id, target, micros(until), reason, micros(since) FROM own o
WHERE NOT EXISTS (SELECT FROM shared s WHERE s.org_id = o.org_id AND s.target = o.target);

-- name: end_probes
-- Ends probes and leaves the outages as they are. A probe that another host has begun since goes on.
-- Per outage: $1 organisation, $2 target, $3 its beginning in microseconds, $4 the host of the probe
UPDATE target_rests r SET probe_until = NULL, probe_host = NULL
FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[]) AS t(org_id, target, since, host_id)
WHERE r.org_id = t.org_id AND r.target = t.target AND r.since = at_micros(t.since) AND r.probe_host = t.host_id;

-- name: add_failures
-- Counts failed attempts into the current period, for the digest alert.
-- Per kind of failure: $1 organisation, $2 action type, $3 target, $4 reason, $5 count
-- $6 the period's length in microseconds
INSERT INTO provider_failures AS f (org_id, since, until, action_type, target, reason, count)
SELECT org_id, at_micros(begins), at_micros(begins + $6::bigint), action_type, target, reason, count
FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS t(org_id, action_type, target, reason, count),
     (SELECT micros(now()) / $6::bigint * $6::bigint AS begins) period
ON CONFLICT (org_id, until, action_type, target, reason) DO UPDATE SET count = f.count + excluded.count;
