-- Which hosts are dead, what they left, and forgetting it. Used by rescue_store.cpp. A living host's session holds the
-- advisory lock hashtext('waybill:' || schema), host_id (view living_hosts).

-- name: observed_hosts
-- Lists the other hosts with the version of their row, and whether each holds its lock. The locks are read once, and not at
-- all if this host is the only one. This session's own locks are those of hosts that it is rescuing.
-- $1 this host
SELECT h.host_id, h.xmin::text,
       h.host_id = ANY (ARRAY(SELECT host_id FROM living_hosts WHERE pid <> pg_backend_pid()))
FROM hosts h WHERE h.host_id <> $1;

-- name: take_over
-- Takes a dead host's lock. No row: somebody has it. False: the host has come back or was rescued since we looked; give the
-- lock back.
-- $1 host, $2 the version of its row when we looked
SELECT EXISTS (SELECT FROM hosts WHERE host_id = $1 AND xmin::text = $2)
FROM (SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), $1::int) AS taken OFFSET 0) lock WHERE taken;

-- name: unregister
-- Deletes a rescued host and releases its lock.
-- $1 host
WITH gone AS (DELETE FROM hosts WHERE host_id = $1::int)
SELECT pg_advisory_unlock(hashtext('waybill:' || current_schema()), $1::int);

-- name: unlock
-- Releases a dead host's lock.
-- $1 host
SELECT pg_advisory_unlock(hashtext('waybill:' || current_schema()), $1::int);

-- name: observed_claims
-- Lists all claims with their leases. The last column is true for a claim whose host is gone, and for one that
-- find_unregistered_claims registered.
SELECT shard, token, host_id, micros(lease_until),
       lease_until = timestamptz 'epoch' OR NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = c.host_id)
FROM claims c;

-- name: orphaned_claims_of_host
-- Lists what a dead host has claimed.
-- $1 shard, $2 host, $3 rows at most
SELECT micros(now()), r.delivery_id, r.claim_token, r.org_id, r.route_id, r.claimed_by, micros(r.claimed_at),
       micros(s.created_at), s.kind, s.client_ref, r.action_order, {{history}}
FROM claimed r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
WHERE r.shard = $1 AND r.host_id = $2
LIMIT $3;

-- name: orphaned_claims_by_token
-- Lists what was claimed under leases that nobody has renewed for as long as they last. A lease's length is what its host gave
-- it, not this host's setting: both its ends are of one clock, so their distance is its length.
-- $1 shard; per claim: $2 token, $3 the lease's end in microseconds when we looked first, $4 microseconds that it has not
-- changed
-- $5 rows at most
SELECT micros(now()), r.delivery_id, r.claim_token, r.org_id, r.route_id, r.claimed_by, micros(r.claimed_at),
       micros(s.created_at), s.kind, s.client_ref, r.action_order, {{history}}
FROM claimed r JOIN submissions s ON s.shard = r.shard AND s.id = r.submission_id
WHERE r.shard = $1 AND EXISTS (
  SELECT FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS seen(token, lease_until, length)
  WHERE seen.token = r.claim_token AND seen.lease_until = micros(r.claim_ends)
    AND seen.length >= micros(r.lease_until) - micros(r.claimed_at))
LIMIT $5;

-- name: forget_claims_of_host
-- Deletes a dead host's claims of which nothing is left. Tombstones stay.
-- $1 shard, $2 host
DELETE FROM claims c WHERE c.shard = $1 AND c.host_id = $2 AND cardinality(c.deliveries) > 0
  AND NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token);

-- name: forget_observed_claims
-- Deletes claims of which nothing is left, if their lease has not been renewed since we looked.
-- $1 shard; per claim: $2 token, $3 the lease's end in microseconds
DELETE FROM claims c USING unnest($2::bigint[], $3::bigint[]) AS seen(token, lease_until)
WHERE c.shard = $1 AND c.token = seen.token AND micros(c.lease_until) = seen.lease_until
  AND NOT EXISTS (SELECT FROM claimed r WHERE r.shard = c.shard AND r.claim_token = c.token);
