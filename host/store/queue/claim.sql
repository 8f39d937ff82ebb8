-- The queue: which routes have work, and claiming it. Used by queue_store.cpp.

-- name: due_routes
-- Lists a shard's routes that have queued work, each with its earliest due time; before it, in each row, the server's time now. A
-- notification that still collects events is due when it stops collecting. The query probes the partial index once per distinct
-- route, however long a backlog is. It skips claimed rows, of which
-- there are at most as many as are in flight. One row with nulls says that nothing is queued.
-- takes: shard
-- returns: now time, route_id number?, org_id number?, due time?
WITH RECURSIVE first AS (
  (SELECT route_id, org_id, due_at FROM ready WHERE shard = :shard AND queued AND status IN ('due', 'open')
   ORDER BY route_id, due_at, delivery_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM first, LATERAL (
    SELECT route_id, org_id, due_at FROM ready WHERE shard = :shard AND queued AND status IN ('due', 'open') AND route_id > first.route_id
    ORDER BY route_id, due_at, delivery_id LIMIT 1) next)
SELECT micros(clock_timestamp()) AS now, route_id, org_id, micros(due_at) AS due FROM (SELECT 1) one LEFT JOIN first ON true;

-- name: cooldowns
-- Lists every target's cooldown, every pause, and what hosts found unreachable where that is not an outage for all; before it, in each row,
-- the server's time now. The last column says whose it is: all's, an operator's (paused: it has no end), the host's own, that refuted by
-- another host, or another's. One row with nulls says that there is none.
-- takes: host
-- returns: now time, org_id number?, target text?, until time?, reason text?, since time?, whose text?
SELECT micros(clock_timestamp()) AS now, org_id, target, micros(until) AS until, reason, micros(since) AS since, whose
FROM (SELECT 1) one LEFT JOIN (
  SELECT org_id, target, until, reason, since, 'all' AS whose FROM target_outages
  UNION ALL
  SELECT org_id, target, since + interval '100 years', reason, since, 'paused' FROM target_pauses
  UNION ALL
  SELECT org_id, target, until, reason, since,
         CASE WHEN host_id <> :host THEN 'another''s' WHEN refuted_at IS NULL THEN 'own' ELSE 'refuted' END
  FROM host_findings f
  WHERE (host_id = :host OR refuted_at IS NULL)
    AND NOT EXISTS (SELECT FROM target_outages r WHERE r.org_id = f.org_id AND r.target = f.target)) known ON true;

-- name: refute_findings
-- Notes that a host had answers from targets that others found unreachable.
-- :orgs and :targets have one element each per target.
-- takes: orgs, targets, host
UPDATE host_findings f SET refuted_at = now()
FROM unnest(:orgs::int[], :targets::text[]) AS reached(org_id, target)
WHERE f.org_id = reached.org_id AND f.target = reached.target AND f.host_id <> :host AND f.refuted_at IS NULL;

-- name: begin_probes
-- Reserves the probes of targets whose cooldown is over, and answers the cooldowns whose probe is this host's. A probe ends when it
-- is settled, when its time is over, or with its host. A host asks again only while it has no delivery of the target in hand, since
-- its planner lets one go at a time. A host that is not registered gets none: others would not see that it has it. What only this host
-- finds unreachable it probes without asking anybody. A host that finds a target unreachable, or is cut off, leaves the probe of an
-- outage of all to a host that does not, for a minute. Rows that another session holds locked are left out.
-- :orgs and :targets have one element each per target; a probe may take :length milliseconds.
-- takes: orgs, targets, host, length
-- returns: org_id number, target text, until time, reason text, since time
WITH bad AS (
  SELECT org_id, target, host_id FROM host_findings JOIN unnest(:orgs::int[], :targets::text[]) AS wanted(org_id, target) USING (org_id, target)
  WHERE until > clock_timestamp() OR refuted_at IS NOT NULL
  UNION ALL
  SELECT wanted.org_id, wanted.target, c.host_id FROM cut_off_hosts c, unnest(:orgs::int[], :targets::text[]) AS wanted(org_id, target)),
shared AS (
  UPDATE target_outages SET probe_until = clock_timestamp() + :length::bigint * interval '1 millisecond', probe_host = :host
  WHERE ctid = ANY (ARRAY(
    SELECT t.ctid FROM target_outages t, unnest(:orgs::int[], :targets::text[]) AS wanted(org_id, target)
    WHERE t.org_id = wanted.org_id AND t.target = wanted.target AND t.until <= clock_timestamp()
      AND (t.probe_until IS NULL OR t.probe_until < clock_timestamp() OR t.probe_host = :host
           OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = t.probe_host))
      AND EXISTS (SELECT FROM hosts me WHERE me.host_id = :host)
      AND (t.until < clock_timestamp() - interval '1 minute'
           OR NOT EXISTS (SELECT FROM bad b WHERE b.org_id = t.org_id AND b.target = t.target AND b.host_id = :host)
           OR NOT EXISTS (SELECT FROM heard_hosts h
                          WHERE NOT EXISTS (SELECT FROM bad b WHERE b.org_id = t.org_id AND b.target = t.target AND b.host_id = h.host_id)))
    FOR UPDATE OF t SKIP LOCKED))
  RETURNING org_id, target, micros(until) AS until, reason, micros(since) AS since)
SELECT * FROM shared
UNION ALL
SELECT f.org_id, f.target, micros(f.until), f.reason, micros(f.since)
FROM host_findings f JOIN unnest(:orgs::int[], :targets::text[]) AS wanted(org_id, target) USING (org_id, target)
WHERE f.host_id = :host AND f.until <= clock_timestamp()
  AND NOT EXISTS (SELECT FROM target_outages t WHERE t.org_id = f.org_id AND t.target = f.target);

-- name: release_probes
-- Lets another host have the probes for which this one has found nothing to send. Rows that another session holds locked are left out:
-- their probes end with their time. :orgs and :targets have one element each per target.
-- takes: orgs, targets, host
UPDATE target_outages SET probe_until = NULL, probe_host = NULL
WHERE ctid = ANY (ARRAY(
  SELECT t.ctid FROM target_outages t, unnest(:orgs::int[], :targets::text[]) AS idle(org_id, target)
  WHERE t.org_id = idle.org_id AND t.target = idle.target AND t.probe_host = :host FOR UPDATE OF t SKIP LOCKED));

-- name: org_weights
-- Lists the organisations that have another weight than 1.
-- returns: org_id number, weight number
SELECT org_id, weight FROM organisations WHERE weight <> 1;

-- name: rate_orders
-- Lists the rates that operators gave to targets and that are in force: :count deliveries in :per microseconds.
-- returns: org_id number, target text, count number, per number
SELECT org_id, target, count, per FROM rate_orders WHERE until IS NULL OR until > now();

-- name: serve_channels
-- Makes this host the one that sends to the channels of these organisations, where no living host does under its lease, and answers
-- the channels that it serves, each with its rate. :orgs, :channels and :routes have one element each per channel; :masters are the master keys that the
-- host has, :lease is in milliseconds.
-- takes: host, orgs, channels, routes, masters, lease
-- returns: route_id number, rate text
SELECT route_id, coalesce(rate, '') AS rate
FROM serve_channels(:host::integer, :orgs::integer[], :channels::uuid[], :routes::integer[], :masters::text[], :lease::bigint * interval '1 millisecond');

-- name: leave_channels
-- Lets another host serve the channels of these organisations, and forgets hosts that are gone.
-- takes: host, orgs
DELETE FROM channel_hosts c
WHERE c.host_id = :host AND c.org_id = ANY (:orgs::integer[]) OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = c.host_id);

-- name: take_permits
-- Takes permits of rate-limited targets: for each how many were granted, and the microseconds until the next one, in the order in
-- which they were asked for. After a pause a target may get what its rate allows in a tenth of a second at once, but at least one.
-- Per target: :wanted permits; :counts deliveries in :periods microseconds.
-- takes: orgs, targets, wanted, counts, periods
-- returns: granted number, wait number
SELECT p.granted, p.wait
FROM (SELECT array_agg(org_id ORDER BY n) AS orgs, array_agg(target ORDER BY n) AS targets, array_agg(wanted ORDER BY n) AS wanted,
             array_agg(per * interval '1 microsecond' / count ORDER BY n) AS aparts,
             array_agg(greatest(1, (count::bigint * 100000 / per)::integer) ORDER BY n) AS bursts
      FROM unnest(:orgs::int[], :targets::text[], :wanted::int[], :counts::int[], :periods::bigint[]) WITH ORDINALITY AS t(org_id, target, wanted, count, per, n)) all_of,
     take_permits(all_of.orgs, all_of.targets, all_of.wanted, all_of.aparts, all_of.bursts) p
ORDER BY p.place;

-- name: claim
-- Claims due rows of several routes. Each route gives up to its share, oldest first. The array of row addresses keeps the plan
-- from becoming a join over the whole table. The claim's row in `claims` is inserted, never updated: if give_back already
-- stored a tombstone under this token, the whole statement fails. A body larger than :most_bytes does not come along; claimed_bodies
-- fetches it, and the body of a notification. A body that an operator edited stands in edited_payloads.
-- Per route: :most rows; the claim begins behind :after_due (microseconds) and the delivery :after_id; :probes ignore the cooldown; :min_ages, or null,
-- is the age in seconds that a submission must have at least: what has been due for so long surely has it, and of what is due since then the
-- first thousand are looked at (and those due at one moment with the last of them), however long the backlog is. A route whose target is
-- paused gives nothing: that is asked once for each route, not for each row.
-- :done are tokens of finished claims, whose rows in `claims` are deleted on the way (not one that find_unregistered_claims has registered: it
-- is the rescuer's); :lease is in milliseconds.
-- takes: shard, token, host, lease, routes, most, after_due, after_id, done, orgs, cooldown_keys, probes, min_ages, most_bytes
-- returns: now time, delivery_id number, submission_id number, org_id number, route_id number, due time, action_order number
-- returns: created time, kind text, client_ref text, body_bytes number?, body text?, media_type text?, artifact text?
-- returns: progress text?, trace text?, {{job_terms}}, {{history}}
WITH claimed AS (
  UPDATE ready SET status = 'claimed', claim_token = :token, claimed_by = :host, claimed_at = now(),
                   lease_until = now() + :lease::bigint * interval '1 millisecond'
  WHERE shard = :shard AND ctid = ANY (ARRAY(
    SELECT taken.place
    FROM (
      SELECT * FROM unnest(:routes::int[], :most::int[], :after_due::bigint[], :after_id::bigint[], :orgs::int[], :cooldown_keys::text[], :probes::boolean[], :min_ages::bigint[])
        AS asked(route_id, most, after_due, after_id, org_id, cooldown_key, probe, min_age)
      WHERE NOT EXISTS (SELECT FROM target_pauses p WHERE p.org_id = asked.org_id AND p.target = asked.cooldown_key)) AS share,
    LATERAL (SELECT ctid AS place FROM ready
             WHERE shard = :shard AND route_id = share.route_id AND queued AND status IN ('due', 'open')
               AND due_at <= CASE WHEN share.min_age IS NULL THEN now() ELSE least(now(), (
                     SELECT later.due_at FROM ready later
                     WHERE later.shard = :shard AND later.route_id = share.route_id AND later.queued AND later.status IN ('due', 'open')
                       AND later.due_at > now() - share.min_age * interval '1 second'
                     ORDER BY later.due_at, later.delivery_id OFFSET 1000 LIMIT 1)) END
               AND (due_at, delivery_id) > (at_micros(share.after_due), share.after_id)
               AND NOT EXISTS (SELECT FROM target_outages t
                               WHERE t.org_id = share.org_id AND t.target = share.cooldown_key AND NOT share.probe)
               AND (share.min_age IS NULL OR due_at <= now() - share.min_age * interval '1 second'
                    OR (SELECT greatest(not_before, created_at) FROM submissions s WHERE s.shard = :shard AND s.id = ready.submission_id)
                       <= now() - share.min_age * interval '1 second')
             ORDER BY due_at, delivery_id LIMIT share.most FOR UPDATE SKIP LOCKED) taken))
  RETURNING delivery_id, submission_id, org_id, route_id, due_at, action_order, composed, edited, progress, expires_at, {{history}}),
known AS (
  INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
  SELECT :shard::smallint, :token::bigint, :host::integer, now() + :lease::bigint * interval '1 millisecond', array_agg(delivery_id)
  FROM claimed HAVING count(*) > 0),
forgotten AS (DELETE FROM claims WHERE shard = :shard AND token = ANY (:done::bigint[]) AND lease_until <> timestamptz 'epoch')
SELECT (SELECT micros(clock_timestamp())) AS now, c.delivery_id, c.submission_id, c.org_id, c.route_id, micros(c.due_at) AS due,
       c.action_order, micros(s.created_at) AS created, s.kind, s.client_ref, octet_length(b.body) AS body_bytes,
       CASE WHEN octet_length(b.body) <= :most_bytes::bigint THEN convert_from(b.body, 'UTF8') END AS body,
       CASE WHEN c.composed THEN (SELECT media_type FROM artifacts WHERE shard = :shard AND delivery_id = c.delivery_id) END AS media_type,
       CASE WHEN c.composed THEN (SELECT encode(body, 'hex') FROM artifacts WHERE shard = :shard AND delivery_id = c.delivery_id) END AS artifact,
       c.progress, s.trace, {{job_terms}}, {{history}}
FROM claimed c
JOIN submissions s ON s.shard = :shard AND s.id = c.submission_id
CROSS JOIN LATERAL (
  SELECT CASE WHEN c.edited THEN (SELECT body FROM edited_payloads WHERE shard = :shard AND delivery_id = c.delivery_id)
              ELSE s.body END AS body) b;

-- name: claimed_bodies
-- Reads the bodies that were too large for the claim's answer, and those of notifications.
-- takes: shard, deliveries
-- returns: delivery_id number, body text?
SELECT c.delivery_id,
       coalesce(convert_from(CASE WHEN c.edited THEN (SELECT body FROM edited_payloads WHERE shard = :shard AND delivery_id = c.delivery_id)
                                  ELSE s.body END, 'UTF8'),
                notification_body(:shard::smallint, s.id)) AS body
FROM ready c JOIN submissions s ON s.shard = :shard AND s.id = c.submission_id
WHERE c.shard = :shard AND c.delivery_id = ANY (:deliveries::bigint[]);

-- name: claimed_channels
-- Reads the channels of claimed notifications, as they are now, and the sizes of their bodies. The claim itself reads neither: a
-- lock on these tables is nothing to intents.
-- takes: shard, deliveries
-- returns: delivery_id number, channel_id text, config text, key_id number, data_key text, secret text, secondary_secret text
-- returns: is_deleted flag, is_disabled flag, signs_with_text flag?, bytes number
SELECT r.delivery_id, c.channel_id, (c.config::jsonb - 'rate')::text AS config, c.key_id,
       encode(k.sealed, 'hex') AS data_key,
       encode(c.secret, 'hex') AS secret,
       coalesce(encode(c.secondary_secret, 'hex'), '') AS secondary_secret,
       c.deleted_at IS NOT NULL AS is_deleted,
       c.disabled_at IS NOT NULL AS is_disabled,
       c.config::jsonb ->> 'signing' = 'cvert' AS signs_with_text,
       n.bytes
FROM ready r
JOIN notifications n ON n.shard = :shard AND n.delivery_id = r.submission_id
JOIN channels c ON c.org_id = n.org_id AND c.channel_id = n.channel_id
JOIN org_keys k ON k.org_id = c.org_id AND k.key_id = c.key_id
WHERE r.shard = :shard AND r.delivery_id = ANY (:deliveries::bigint[]);

-- name: claim_tombstone
-- Stores a tombstone under the token of a claim whose answer was lost. The claim's statement may still run in the server.
-- Either this insert waits for its end and finds its row, or that statement finds the tombstone and fails. The tombstone stays
-- for longer than a statement may run.
-- takes: shard, host, token
INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
VALUES (:shard, :token, :host, now() + interval '1 hour', '{}') ON CONFLICT (shard, token) DO NOTHING;

-- name: give_back
-- Makes all rows of a claim due again and leaves a tombstone in its place. Runs after claim_tombstone. Rows that have moved on
-- under another token are left alone.
-- takes: shard, token, host
WITH known AS (
  UPDATE claims c SET deliveries = '{}', lease_until = now() + interval '1 hour' FROM claims old
  WHERE c.shard = :shard AND c.token = :token AND c.host_id = :host AND old.shard = c.shard AND old.token = c.token RETURNING old.deliveries)
UPDATE ready r SET status = 'due', claim_token = NULL, claimed_by = NULL, claimed_at = NULL, lease_until = NULL
FROM known, unnest(known.deliveries) AS one(id)
WHERE r.shard = :shard AND r.delivery_id = one.id AND r.status = 'claimed' AND r.claim_token = :token;

-- name: forget_claims
-- Deletes the rows of finished claims, as a claim does on its way.
-- takes: shard, tokens
DELETE FROM claims WHERE shard = :shard AND token = ANY (:tokens::bigint[]) AND lease_until <> timestamptz 'epoch';

-- name: contracts
-- Reads the contracts of routes.
-- takes: routes
-- returns: route_id number, org_id number, contract text
SELECT route_id, org_id, contract FROM contract_snapshots WHERE route_id = ANY (:routes::int[]);
