-- How a server is while it works, for `waybill doctor`. None of it needs the schema; each is bounded. Used by server_health.cpp.

-- name: server_state
-- What the server is set to and how full it is. Null: this role may not see it, or this version has no such setting. `now` is the moment of the answer;
-- `used` are all sessions; ages are those of the oldest database, in transactions.
-- returns: role text, version text, version_number number, is_standby flag, sees_all flag, now time, is_local flag, data_directory text?
-- returns: fsync text, full_page_writes text, synchronous_commit text?, checksums text, autovacuum text, shared_buffers number
-- returns: checkpoint_seconds number, max_wal_bytes number, connections number, used number?
-- returns: idle_session_ms number?, transaction_ms number?, transaction_age number?, multixact_age number?, freeze_max_age number
SELECT current_user AS role,
       current_setting('server_version') AS version,
       current_setting('server_version_num')::integer AS version_number,
       pg_is_in_recovery() AS is_standby,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
       inet_server_addr() IS NULL AS is_local,
       (SELECT setting FROM pg_settings WHERE name = 'data_directory') AS data_directory,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit,
       current_setting('data_checksums') AS checksums,
       current_setting('autovacuum') AS autovacuum,
       pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers,
       extract(epoch FROM current_setting('checkpoint_timeout')::interval)::bigint AS checkpoint_seconds,
       pg_size_bytes(current_setting('max_wal_size')) AS max_wal_bytes,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS connections,
       (SELECT sum(numbackends)::bigint FROM pg_stat_database) AS used,
       (SELECT setting::bigint FROM pg_settings WHERE name = 'idle_session_timeout') AS idle_session_ms,
       (SELECT setting::bigint FROM pg_settings WHERE name = 'transaction_timeout') AS transaction_ms,
       (SELECT max(age(datfrozenxid)) FROM pg_database) AS transaction_age,
       (SELECT max(mxid_age(datminmxid)) FROM pg_database) AS multixact_age,
       current_setting('autovacuum_freeze_max_age')::bigint AS freeze_max_age;

-- name: database_size
-- Answers the size of this database, as its files have it.
-- returns: bytes number
SELECT pg_database_size(current_database()) AS bytes;

-- name: standbys
-- Lists the standbys that are connected, and how far each is behind. Null: this role may not see it.
-- returns: name text, state text?, sync_state text?, bytes_behind number?, seconds_behind number?, snapshot_age number?
SELECT coalesce(nullif(application_name, ''), 'unnamed') AS name,
       state,
       sync_state,
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, replay_lsn)::bigint
         AS bytes_behind,
       extract(epoch FROM replay_lag)::bigint AS seconds_behind,
       age(backend_xmin) AS snapshot_age
FROM pg_stat_replication ORDER BY name LIMIT 50;

-- name: synchronous_names
-- Answers which standbys commits wait for, and how many sessions do so now, of those that this role sees.
-- returns: names text, waiting number
SELECT current_setting('synchronous_standby_names') AS names,
       (SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep') AS waiting;

-- name: replication_slots
-- Lists the replication slots, how much of the log each keeps, and the age of the snapshot that it holds, in transactions.
-- returns: name text?, is_active flag?, state text?, bytes_kept number?, snapshot_age number?
SELECT slot_name::text AS name,
       active AS is_active,
       wal_status AS state,
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, restart_lsn)::bigint
         AS bytes_kept,
       greatest(age(xmin), age(catalog_xmin)) AS snapshot_age
FROM pg_replication_slots WHERE NOT temporary ORDER BY slot_name LIMIT 50;

-- name: archiving
-- Whether the log is archived, and for how many microseconds that has succeeded or failed last; null: it never did.
-- returns: mode text, archived_ago number?, failed_ago number?, failed_file text?
SELECT current_setting('archive_mode') AS mode,
       (extract(epoch FROM clock_timestamp() - last_archived_time) * 1000000)::bigint AS archived_ago,
       (extract(epoch FROM clock_timestamp() - last_failed_time) * 1000000)::bigint AS failed_ago,
       last_failed_wal AS failed_file
FROM pg_stat_archiver;
