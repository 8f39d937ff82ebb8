-- Which hosts are dead, what they left, and forgetting it. Used by rescue_store.cpp. A living host's session holds the
-- advisory lock hashtext('waybill:' || schema), host_id (view living_hosts).

-- name: observed_hosts
-- Lists the other hosts with the version of their row, and whether each holds its lock. The locks are read once, and not at
-- all if this host is the only one. This session's own locks are those of hosts that it is rescuing.
-- takes: this_host
-- returns: host_id number, version number, is_alive flag?
SELECT h.host_id, h.xmin::text::bigint AS version,
       h.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts WHERE pid <> pg_backend_pid())) AS is_alive
FROM hosts h WHERE h.host_id <> :this_host;

-- name: take_over
-- Takes a dead host's lock. No row: somebody has it. False: the host has come back or was rescued since we looked, when its row had that version;
-- give the lock back.
-- takes: host, version
-- returns: is_as_seen flag
SELECT EXISTS (SELECT FROM hosts WHERE host_id = :host AND xmin::text = :version) AS is_as_seen
FROM (SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), :host::int) AS taken OFFSET 0) lock WHERE taken;

-- name: forget_findings
-- What a dead host had found unreachable confirms nothing: whoever rescues it holds its lock meanwhile. Rows that another session holds
-- locked stay.
-- takes: host
DELETE FROM host_findings
WHERE ctid = ANY (ARRAY(SELECT ctid FROM host_findings WHERE host_id = :host FOR UPDATE SKIP LOCKED));

-- name: unregister
-- Deletes a rescued host and releases its lock.
-- takes: host
-- returns: is_released flag
WITH gone AS (DELETE FROM hosts WHERE host_id = :host::int)
SELECT pg_advisory_unlock(hashtext('waybill:' || current_schema()), :host::int) AS is_released;

-- name: unlock
-- Releases a dead host's lock.
-- takes: host
-- returns: is_released flag
SELECT pg_advisory_unlock(hashtext('waybill:' || current_schema()), :host::int) AS is_released;

-- name: observed_claims
-- Lists all claims with their leases. Orphaned is a claim whose host is gone, and one that find_unregistered_claims registered.
-- returns: shard number, token number, host_id number, lease_until time, is_orphaned flag
SELECT shard, token, host_id, micros(lease_until) AS lease_until,
       lease_until = timestamptz 'epoch' OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = c.host_id) AS is_orphaned
FROM claims c;

-- name: orphaned_claims_of_host
-- Lists what a dead host has claimed, at most so many rows.
-- takes: shard, host, most
-- returns: now time, delivery_id number, claim_token number, org_id number, route_id number, host_id number, claimed time
-- returns: created time, kind text, client_ref text, action_order number, trace text?, {{job_terms}}, {{history}}
SELECT micros(now()) AS now, c.delivery_id, c.claim_token, c.org_id, c.route_id, c.host_id, coalesce(micros(c.claimed_at), 0) AS claimed,
       micros(s.created_at) AS created, s.kind, s.client_ref, c.action_order, s.trace, {{job_terms}}, {{history}}
FROM claimed c JOIN submissions s ON s.shard = c.shard AND s.id = c.submission_id
WHERE c.shard = :shard AND c.host_id = :host
LIMIT :most;

-- name: orphaned_claims_by_token
-- Lists what was claimed under leases that nobody has renewed for as long as they last, at most so many rows. A lease's length is what its host gave
-- it, not this host's setting: both its ends are of one clock, so their distance is its length.
-- Per claim: :lease_untils, the lease's end in microseconds when we looked first, and for how many microseconds it is :unchanged.
-- takes: shard, tokens, lease_untils, unchanged, most
-- returns: now time, delivery_id number, claim_token number, org_id number, route_id number, host_id number, claimed time
-- returns: created time, kind text, client_ref text, action_order number, trace text?, {{job_terms}}, {{history}}
SELECT micros(now()) AS now, c.delivery_id, c.claim_token, c.org_id, c.route_id, c.host_id, coalesce(micros(c.claimed_at), 0) AS claimed,
       micros(s.created_at) AS created, s.kind, s.client_ref, c.action_order, s.trace, {{job_terms}}, {{history}}
FROM claimed c JOIN submissions s ON s.shard = c.shard AND s.id = c.submission_id
WHERE c.shard = :shard AND EXISTS (
  SELECT FROM unnest(:tokens::bigint[], :lease_untils::bigint[], :unchanged::bigint[]) AS seen(token, lease_until, length)
  WHERE seen.token = c.claim_token AND seen.lease_until = micros(c.claim_ends)
    AND seen.length >= micros(c.lease_until) - micros(c.claimed_at))
LIMIT :most;

-- name: forget_claims_of_host
-- Deletes a dead host's claims of which nothing is left. Tombstones stay.
-- takes: shard, host
DELETE FROM claims c WHERE c.shard = :shard AND c.host_id = :host AND cardinality(c.deliveries) > 0
  AND NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token);

-- name: forget_observed_claims
-- Deletes claims of which nothing is left, if their lease has not been renewed since we looked, when it ended in :lease_untils (microseconds).
-- takes: shard, tokens, lease_untils
DELETE FROM claims c USING unnest(:tokens::bigint[], :lease_untils::bigint[]) AS seen(token, lease_until)
WHERE c.shard = :shard AND c.token = seen.token AND micros(c.lease_until) = seen.lease_until
  AND NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token);
