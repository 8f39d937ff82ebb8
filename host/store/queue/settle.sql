-- Settling: what became of claimed deliveries, guarded by the claim token; outages of targets. Used by settle_statement.cpp
-- and settle_store.cpp.

-- template: settle
-- Settles a batch: deletes what has ended and makes due again what is to be retried; writes attempts, ended deliveries and
-- audit. The fencing token decides: a row whose claim_token is not the item's ($3) is not touched and not answered. Joins go by the
-- primary key (see Connection::open), however long the queue is.
-- returns: delivery number, token number, submission_id number
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
-- takes: shard, deliveries, tokens, media_types, bodies
-- returns: delivery_id number
WITH made AS MATERIALIZED (
  SELECT f.*, r.place, r.org_id
  FROM unnest(:deliveries::bigint[], :tokens::bigint[], :media_types::text[], :bodies::bytea[]) AS f(delivery, token, media_type, body),
  LATERAL (SELECT ctid AS place, org_id FROM ready
           WHERE shard = :shard AND delivery_id = f.delivery AND claim_token = f.token FOR UPDATE) r),
kept AS (
  INSERT INTO artifacts (shard, delivery_id, org_id, media_type, body)
  SELECT :shard::smallint, delivery, org_id, media_type, body FROM made),
again AS (
  UPDATE ready r SET status = 'due', composed = true, claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
  FROM made m WHERE r.shard = :shard AND r.ctid = m.place)
SELECT delivery AS delivery_id FROM made;

-- name: locked_deliveries
-- Finds deliveries whose settlement would have to wait for a lock: rows that exist but cannot be locked at once. The settlement
-- of a form's delivery locks its submission too; that of a pipeline's, its submission and the row in `pipeline_submissions`. An
-- intent's delivery has the id of its submission, of which it locks nothing.
-- takes: shard, deliveries
-- returns: delivery_id number
WITH free AS MATERIALIZED (
  SELECT delivery_id FROM ready WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[]) FOR UPDATE SKIP LOCKED),
free_form AS MATERIALIZED (
  SELECT id FROM submissions
  WHERE shard = :shard AND id = ANY (ARRAY(SELECT submission_id FROM ready WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[])
                                                                         AND delivery_id <> submission_id))
  FOR UPDATE SKIP LOCKED),
free_walk AS MATERIALIZED (
  SELECT submission_id FROM pipeline_submissions
  WHERE shard = :shard AND submission_id = ANY (ARRAY(SELECT submission_id FROM ready WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[])))
  FOR UPDATE SKIP LOCKED)
SELECT delivery_id FROM ready
WHERE shard = :shard AND delivery_id = ANY (:deliveries::bigint[])
  AND (delivery_id NOT IN (SELECT delivery_id FROM free)
       OR (delivery_id <> submission_id AND submission_id NOT IN (SELECT id FROM free_form))
       OR (submission_id NOT IN (SELECT submission_id FROM free_walk)
           AND EXISTS (SELECT FROM pipeline_submissions p WHERE p.shard = :shard AND p.submission_id = ready.submission_id)));

-- name: blame_targets
-- Begins or prolongs outages and answers the cooldowns. A cooldown grows with its outage. All writers insert in one order, so
-- that they never wait for each other in a circle.
-- Per failure: when (:blamed) and the cooldown that it :asked for, in microseconds, and whether the destination :answered.
-- A cooldown is the outage's length so far divided by :part, at least :shortest and at most :longest microseconds.
-- takes: orgs, targets, blamed, asked, reasons, longest, shortest, part, answered
-- returns: org_id number, target text, until time, reason text, since time
INSERT INTO target_outages AS r (org_id, target, since, until, reason, answered)
SELECT org_id, target, at_micros(min(blamed)), at_micros(max(blamed + greatest(asked, least(:shortest::bigint, :longest::bigint)))),
       (array_agg(reason ORDER BY blamed DESC, reason))[1], bool_or(answered)
FROM unnest(:orgs::int[], :targets::text[], :blamed::bigint[], :asked::bigint[], :reasons::text[], :answered::boolean[]) AS t(org_id, target, blamed, asked, reason, answered)
GROUP BY org_id, target ORDER BY org_id, target
ON CONFLICT (org_id, target) DO UPDATE SET
  since = least(r.since, excluded.since),
  until = greatest(r.until, excluded.until, excluded.since + least(greatest((excluded.since - r.since) / :part::integer,
                   :shortest::bigint * interval '1 microsecond'), :longest::bigint * interval '1 microsecond')),
  reason = CASE WHEN excluded.since >= r.since THEN excluded.reason ELSE r.reason END,
  answered = CASE WHEN excluded.since >= r.since THEN excluded.answered ELSE r.answered END, probe_until = NULL, probe_host = NULL
RETURNING org_id, target, micros(until) AS until, reason, micros(since) AS since;

-- name: find_unreachable
-- Begins or prolongs a host's own findings, as blame_targets does with outages. Answers those that concern this host alone: the target
-- is in no outage but one of answers, there is another host (that is heard and not cut off), and none of those whose session lives found the same
-- lately: one that has just crashed may have been this one's predecessor on the same machine. No other sends to the channels that this host serves:
-- of a channel it is no longer this host's alone once it has connected to others since and had their answers. One that was refuted a while ago
-- counts as new. The probe of an outage of answers that this host had is free again.
-- The parameters are those of blame_targets; per failure also whether this host made connections to others since, and had answers by them.
-- takes: orgs, targets, blamed, asked, reasons, longest, shortest, part, host, others_connected
-- returns: org_id number, target text, until time, reason text, since time
WITH found AS (
  INSERT INTO host_findings AS f (org_id, target, host_id, since, until, reason)
  SELECT org_id, target, :host::integer, at_micros(min(blamed)),
         at_micros(max(blamed + greatest(asked, least(:shortest::bigint, :longest::bigint)))), (array_agg(reason ORDER BY blamed DESC, reason))[1]
  FROM unnest(:orgs::int[], :targets::text[], :blamed::bigint[], :asked::bigint[], :reasons::text[]) AS t(org_id, target, blamed, asked, reason)
  GROUP BY org_id, target ORDER BY org_id, target
  ON CONFLICT (org_id, target, host_id) DO UPDATE SET
    since = least(f.since, excluded.since),
    until = greatest(f.until, excluded.until, excluded.since + least(greatest((excluded.since - f.since) / :part::integer,
                     :shortest::bigint * interval '1 microsecond'), :longest::bigint * interval '1 microsecond')),
    reason = CASE WHEN excluded.since >= f.since THEN excluded.reason ELSE f.reason END,
    refuted_at = CASE WHEN f.refuted_at >= excluded.since - interval '10 seconds' THEN f.refuted_at END
  RETURNING org_id, target, until, reason, since),
others AS (
  SELECT host_id FROM heard_hosts h
  WHERE host_id <> :host AND NOT EXISTS (SELECT FROM cut_off_hosts c WHERE c.host_id = h.host_id)),
freed AS (
  UPDATE target_outages SET probe_until = NULL, probe_host = NULL
  WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM target_outages r, unnest(:orgs::int[], :targets::text[]) AS t(org_id, target)
    WHERE r.org_id = t.org_id AND r.target = t.target AND r.answered AND r.probe_host = :host FOR UPDATE OF r SKIP LOCKED)))
SELECT org_id, target, micros(until) AS until, reason, micros(since) AS since FROM found
WHERE EXISTS (SELECT FROM others)
  AND NOT (found.target LIKE 'channel:%' AND EXISTS (
        SELECT FROM unnest(:orgs::int[], :targets::text[], :others_connected::boolean[]) AS t(org_id, target, others_connected)
        WHERE others_connected AND t.org_id = found.org_id AND t.target = found.target))
  AND NOT EXISTS (SELECT FROM target_outages r WHERE r.org_id = found.org_id AND r.target = found.target AND NOT r.answered)
  AND NOT EXISTS (SELECT FROM host_findings o
                  WHERE o.org_id = found.org_id AND o.target = found.target AND o.host_id IN (SELECT host_id FROM others)
                    AND o.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts))
                    AND o.refuted_at IS NULL AND o.until > now() - interval '1 minute');

-- name: locked_outages
-- Finds targets whose outage, or a host's finding of which, another session holds locked: rows that exist but cannot be locked at once.
-- :orgs and :targets have one element each per target.
-- takes: orgs, targets
-- returns: org_id number, target text
WITH free AS MATERIALIZED (
  SELECT r.org_id, r.target FROM target_outages r
  WHERE (r.org_id, r.target) IN (SELECT * FROM unnest(:orgs::int[], :targets::text[])) FOR UPDATE SKIP LOCKED),
free_findings AS MATERIALIZED (
  SELECT f.org_id, f.target, f.host_id FROM host_findings f
  WHERE (f.org_id, f.target) IN (SELECT * FROM unnest(:orgs::int[], :targets::text[])) FOR UPDATE SKIP LOCKED)
SELECT r.org_id, r.target FROM target_outages r
WHERE (r.org_id, r.target) IN (SELECT * FROM unnest(:orgs::int[], :targets::text[]))
  AND (r.org_id, r.target) NOT IN (SELECT org_id, target FROM free)
UNION
SELECT f.org_id, f.target FROM host_findings f
WHERE (f.org_id, f.target) IN (SELECT * FROM unnest(:orgs::int[], :targets::text[]))
  AND (f.org_id, f.target, f.host_id) NOT IN (SELECT org_id, target, host_id FROM free_findings);

-- name: end_outages
-- Ends outages, unless a new one has begun since, and the finding of the host that got through. Answers the cooldowns that it deleted.
-- Per outage: its beginning in microseconds (:sinces), and the host that got through.
-- takes: orgs, targets, sinces, hosts
-- returns: org_id number, target text, until time, reason text, since time
WITH ended AS (SELECT * FROM unnest(:orgs::int[], :targets::text[], :sinces::bigint[], :hosts::int[]) AS t(org_id, target, since, host_id)),
own AS (
  DELETE FROM host_findings f USING ended t
  WHERE f.org_id = t.org_id AND f.target = t.target AND f.host_id = t.host_id
  RETURNING f.org_id, f.target, f.until, f.reason, f.since),
shared AS (
  DELETE FROM target_outages r USING ended t
  WHERE r.org_id = t.org_id AND r.target = t.target AND r.since = at_micros(t.since)
  RETURNING r.org_id, r.target, r.until, r.reason, r.since)
SELECT org_id, target, micros(until) AS until, reason, micros(since) AS since FROM shared
UNION ALL
SELECT org_id, target, micros(until), reason, micros(since) FROM own o
WHERE NOT EXISTS (SELECT FROM shared s WHERE s.org_id = o.org_id AND s.target = o.target);

-- name: end_probes
-- Ends probes and leaves the outages as they are. A probe that another host has begun since goes on.
-- Per outage: its beginning in microseconds (:sinces), and the host of the probe.
-- takes: orgs, targets, sinces, hosts
UPDATE target_outages r SET probe_until = NULL, probe_host = NULL
FROM unnest(:orgs::int[], :targets::text[], :sinces::bigint[], :hosts::int[]) AS t(org_id, target, since, host_id)
WHERE r.org_id = t.org_id AND r.target = t.target AND r.since = at_micros(t.since) AND r.probe_host = t.host_id;

-- name: add_failures
-- Counts failed attempts into the current period, of :period microseconds, for the digest alert. One element each per kind of failure.
-- takes: orgs, action_types, targets, reasons, counts, period
INSERT INTO provider_failures AS f (org_id, since, until, action_type, target, reason, count)
SELECT org_id, at_micros(begins), at_micros(begins + :period::bigint), action_type, target, reason, count
FROM unnest(:orgs::int[], :action_types::text[], :targets::text[], :reasons::text[], :counts::bigint[]) AS t(org_id, action_type, target, reason, count),
     (SELECT micros(now()) / :period::bigint * :period::bigint AS begins) period
ON CONFLICT (org_id, until, action_type, target, reason) DO UPDATE SET count = f.count + excluded.count;
