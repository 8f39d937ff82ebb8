-- Migrating, and comparing the schema's version with the program's. Used by migrations.cpp and schema_version.cpp.

-- name: has_schema
-- Whether the schema exists.
-- takes: schema
-- returns: one number
SELECT 1 AS one FROM pg_namespace WHERE nspname = :schema;

-- name: schema_owner
-- Answers the session's role, the role that owns the tables or will own them, and whether the session may act for it. Members
-- of the owner make tables in its name.
-- takes: schema
-- returns: session_role text, owner text, may_act flag
WITH schema AS (SELECT oid, nspowner FROM pg_namespace WHERE nspname = :schema),
holder AS (
  SELECT coalesce((SELECT relowner FROM pg_class WHERE relname = 'schema_migrations' AND relnamespace = (SELECT oid FROM schema)),
                  (SELECT nspowner FROM schema WHERE pg_has_role(nspowner, 'MEMBER') AND pg_get_userbyid(nspowner) !~ '^pg_')) AS role)
SELECT current_user AS session_role,
       coalesce(pg_get_userbyid(role), current_user) AS owner,
       CASE WHEN role IS NOT NULL THEN pg_has_role(role, 'MEMBER')
            WHEN EXISTS (SELECT FROM schema) THEN coalesce(has_schema_privilege((SELECT oid FROM schema), 'CREATE'), false)
            ELSE has_database_privilege(current_database(), 'CREATE') END AS may_act
FROM holder;

-- name: lock_migrations
-- Takes the lock under which one process migrates a schema, until its session ends. Tried, not waited for: an index that is made
-- concurrently waits for all who wait.
-- takes: schema
-- returns: is_taken flag
SELECT pg_try_advisory_lock(hashtext('waybill-migrate:' || :schema)) AS is_taken;

-- name: has_hosts
-- Whether there is a table of hosts.
-- returns: is_there flag
SELECT to_regclass('hosts') IS NOT NULL AS is_there;

-- name: forget_older_hosts
-- Unregisters dead hosts that know less than a migration asks for; what they hold is rescued. Runs under the lock on `hosts`.
-- `:version`: the one that hosts must know.
-- takes: version
WITH older AS MATERIALIZED (SELECT host_id FROM hosts WHERE coalesce(knows, 9) < :version)
DELETE FROM hosts h USING older o
WHERE h.host_id = o.host_id AND pg_try_advisory_xact_lock(hashtext('waybill:' || current_schema()), o.host_id);

-- name: older_hosts
-- Names the hosts that know less than a migration asks for; null if there are none.
-- `:version`: the one that hosts must know.
-- takes: version
-- returns: names text?
SELECT string_agg(name || ' (version ' || coalesce(knows::text, '9 or older') || ')', ', ' ORDER BY host_id) AS names
FROM hosts WHERE coalesce(knows, 9) < :version;

-- name: older_living_hosts
-- Lists the hosts that live and know less than a migration asks for.
-- `:version`: the one that hosts must know.
-- takes: version
-- returns: name text, knows number?
SELECT name, knows FROM hosts
WHERE coalesce(knows, 9) < :version AND host_id = ANY (ARRAY(SELECT host_id FROM living_hosts)) ORDER BY host_id;

-- name: has_progress
-- Whether there is a table of how far migrations have come that this role may read.
-- returns: is_there flag
SELECT coalesce(has_table_privilege(to_regclass('migration_progress'), 'SELECT'), false) AS is_there;

-- name: migration_progress
-- Answers how many steps of a migration are done, and where the batches of the next one go on; no row: none is.
-- takes: version
-- returns: steps_done number, cursor text
SELECT steps_done, cursor FROM migration_progress WHERE version = :version;

-- name: note_step
-- Notes how far a migration has come, with what has just been done.
-- takes: version, steps_done, cursor
INSERT INTO migration_progress (version, steps_done, cursor) VALUES (:version, :steps_done, :cursor)
ON CONFLICT (version) DO UPDATE SET steps_done = excluded.steps_done, cursor = excluded.cursor;

-- name: note_migration
-- Notes that a migration is done.
-- takes: version, name, runs_beside
WITH done AS (DELETE FROM migration_progress WHERE version = :version)
INSERT INTO schema_migrations (version, name, runs_beside) VALUES (:version, :name, :runs_beside);

-- name: is_index_left_over
-- Whether there is an index of this name that is not valid: making it was cut off.
-- takes: name
-- returns: is_left_over flag
SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(quote_ident(:name)) AND NOT indisvalid) AS is_left_over;

-- name: size_of
-- Answers the size of a table as the planner knows it, in rows and bytes; nulls if there is none.
-- takes: name
-- returns: row_count number?, bytes number?
SELECT greatest(c.reltuples, 0)::bigint AS row_count, pg_table_size(c.oid) AS bytes
FROM (SELECT to_regclass(quote_ident(:name)) AS oid) named LEFT JOIN pg_class c ON c.oid = named.oid;

-- name: has_migrations_table
-- Whether there is a table of migrations that this role may read.
-- returns: is_there flag
SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false) AS is_there;

-- name: schema_version
-- Answers the schema's version, and the oldest version that a host must know. Databases of before 14, which are told to migrate
-- first, have no column `runs_beside`.
-- returns: version number, needs number
SELECT coalesce(max(version), 0) AS version,
       coalesce(max(coalesce((to_jsonb(m) ->> 'runs_beside')::integer, version)), 0) AS needs
FROM schema_migrations m;

-- name: functions_hash
-- The hash of the functions' texts that were applied last; no row before the first time.
-- returns: hash text
SELECT hash FROM schema_functions;

-- name: note_functions
-- Notes which functions' texts were applied.
-- takes: hash
INSERT INTO schema_functions (hash) VALUES (:hash) ON CONFLICT (is_one) DO UPDATE SET hash = excluded.hash, applied_at = now();
