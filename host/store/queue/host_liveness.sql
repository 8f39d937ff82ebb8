-- How a host shows that it lives. Used by host_liveness.cpp. Its session holds the advisory lock hashtext('waybill:' ||
-- schema), host_id, which goes with the session.

-- name: host_session
-- Answers the session's process id, and in its last column the time. Nothing in this session waits long for a lock: a host that waits cannot show that it
-- lives. The server ends the session of a host that it cannot reach once a lease has passed, and no sooner: until then what the host
-- holds is its own.
-- $1 lease in milliseconds
SELECT pg_backend_pid(), set_config('lock_timeout', '250ms', false), set_config('tcp_keepalives_idle', seconds::text, false),
       set_config('tcp_user_timeout', (seconds * 1000)::text, false), micros(clock_timestamp())
FROM (SELECT least(ceil($1::bigint / 1000.0)::integer, 32767) AS seconds) lease;

-- name: new_host_id
-- Draws an id for a new host.
SELECT nextval(pg_get_serial_sequence(quote_ident(current_schema()) || '.hosts', 'host_id'));

-- name: host_lock
-- Takes the lock that shows that the host lives.
-- $1 host
SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), $1::int);

-- name: host_register
-- Registers a new host. It is heard from now on.
-- $1 host, $2 its name, $3 the schema version that its program knows
WITH said AS (INSERT INTO host_facts (host_id, told_at, facts) VALUES ($1, now(), '{}'))
INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3);

-- name: host_there
-- The time, if the host is registered still; if not, another host has rescued it.
-- $1 host
SELECT micros(clock_timestamp()) FROM hosts WHERE host_id = $1;

-- name: host_back
-- Writes a new version of the host's row after its session was lost. Whoever saw the lock free before can tell that it was
-- taken since. No row: the host was rescued meanwhile.
-- $1 host
WITH gone AS (DELETE FROM hosts WHERE host_id = $1 RETURNING *)
INSERT INTO hosts OVERRIDING SYSTEM VALUE SELECT * FROM gone RETURNING 1;

-- name: host_end_session
-- Ends this host's lost session if the server still has it, so that its lock becomes free.
-- $1 host, $2 process id of that session
SELECT pg_terminate_backend(pid) FROM living_hosts WHERE host_id = $1::int AND pid = $2::int;

-- name: host_leave
-- Unregisters this host at an orderly end.
-- $1 host
DELETE FROM hosts WHERE host_id = $1;

-- name: renew_leases
-- Gives claims a new lease from now on. Claims that another session is just writing are skipped.
-- $1 shard, $2 claim tokens, $3 lease in milliseconds
UPDATE claims SET lease_until = now() + $3::bigint * interval '1 millisecond'
WHERE shard = $1 AND ctid = ANY (ARRAY(
  SELECT ctid FROM claims WHERE shard = $1 AND token = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED));

-- name: renew_channel_hosts
-- Gives the host's places in `channel_hosts` a new lease from now on. Places that another session is just writing are skipped.
-- $1 host, $2 lease in milliseconds
UPDATE channel_hosts SET renewed_at = now(), lease_until = now() + $2::bigint * interval '1 millisecond'
WHERE ctid = ANY (ARRAY(SELECT ctid FROM channel_hosts WHERE host_id = $1 FOR UPDATE SKIP LOCKED));

-- name: database_time
-- The database's time.
SELECT micros(clock_timestamp());

-- name: shards
-- Answers the number of shards that this database was created with.
SELECT shards FROM installation;
