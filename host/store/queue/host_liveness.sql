-- How a host shows that it lives. Used by host_liveness.cpp. Its session holds the advisory lock hashtext('waybill:' ||
-- schema), host_id, which goes with the session.

-- name: host_session
-- Answers the session's process id, and the time. Nothing in this session waits long for a lock: a host that waits cannot show that it
-- lives. The server ends the session of a host that it cannot reach once a lease has passed, and no sooner: until then what the host
-- holds is its own. :lease is in milliseconds.
-- takes: lease
-- returns: process_id number, lock_timeout text, keepalives_idle text, user_timeout text, now time
SELECT pg_backend_pid() AS process_id,
       set_config('lock_timeout', '250ms', false) AS lock_timeout,
       set_config('tcp_keepalives_idle', seconds::text, false) AS keepalives_idle,
       set_config('tcp_user_timeout', (seconds * 1000)::text, false) AS user_timeout,
       micros(clock_timestamp()) AS now
FROM (SELECT least(ceil(:lease::bigint / 1000.0)::integer, 32767) AS seconds) lease;

-- name: new_host_id
-- Draws an id for a new host.
-- returns: host_id number
SELECT nextval(pg_get_serial_sequence(quote_ident(current_schema()) || '.hosts', 'host_id')) AS host_id;

-- name: host_lock
-- Takes the lock that shows that the host lives.
-- takes: host
-- returns: is_taken flag
SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), :host::int) AS is_taken;

-- name: host_register
-- Registers a new host, whose program knows that schema version. It is heard from now on.
-- takes: host, name, knows
WITH said AS (INSERT INTO host_facts (host_id, told_at, facts) VALUES (:host, now(), '{}'))
INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES (:host, :name, :knows);

-- name: host_there
-- The time, if the host is registered still; if not, another host has rescued it.
-- takes: host
-- returns: now time
SELECT micros(clock_timestamp()) AS now FROM hosts WHERE host_id = :host;

-- name: host_back
-- Writes a new version of the host's row after its session was lost. Whoever saw the lock free before can tell that it was
-- taken since. No row: the host was rescued meanwhile.
-- takes: host
-- returns: host_id number
WITH gone AS (DELETE FROM hosts WHERE host_id = :host RETURNING *)
INSERT INTO hosts OVERRIDING SYSTEM VALUE SELECT * FROM gone RETURNING host_id;

-- name: host_end_session
-- Ends this host's lost session if the server still has it, so that its lock becomes free.
-- takes: host, process_id
-- returns: is_ended flag
SELECT pg_terminate_backend(pid) AS is_ended FROM living_hosts WHERE host_id = :host::int AND pid = :process_id::int;

-- name: host_leave
-- Unregisters this host at an orderly end.
-- takes: host
DELETE FROM hosts WHERE host_id = :host;

-- name: renew_leases
-- Gives claims a new lease of so many milliseconds from now on. Claims that another session is just writing are skipped.
-- takes: shard, tokens, lease
UPDATE claims SET lease_until = now() + :lease::bigint * interval '1 millisecond'
WHERE shard = :shard AND ctid = ANY (ARRAY(
  SELECT ctid FROM claims WHERE shard = :shard AND token = ANY (:tokens::bigint[]) FOR UPDATE SKIP LOCKED));

-- name: renew_channel_hosts
-- Gives the host's places in `channel_hosts` a new lease of so many milliseconds from now on. Places that another session is just writing
-- are skipped.
-- takes: host, lease
UPDATE channel_hosts SET renewed_at = now(), lease_until = now() + :lease::bigint * interval '1 millisecond'
WHERE ctid = ANY (ARRAY(SELECT ctid FROM channel_hosts WHERE host_id = :host FOR UPDATE SKIP LOCKED));

-- name: database_time
-- The database's time.
-- returns: now time
SELECT micros(clock_timestamp()) AS now;

-- name: shards
-- Answers the number of shards that this database was created with.
-- returns: shards number
SELECT shards FROM installation;
