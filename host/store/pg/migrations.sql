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

-- name: has_hosts
-- Whether there is a table of hosts.
-- returns: is_there flag
SELECT to_regclass('hosts') IS NOT NULL AS is_there;

-- name: has_runs_beside
-- Whether schema_migrations has the column `runs_beside`; databases of before 14 do not.
-- returns: one number
SELECT 1 AS one FROM pg_attribute WHERE attrelid = 'schema_migrations'::regclass AND attname = 'runs_beside';

-- name: forget_older_hosts
-- Unregisters dead hosts that know less than a migration asks for; what they hold is rescued. Runs under the lock on `hosts`.
-- Databases of before 14 have no column `knows`.
-- `:version`: the one that hosts must know.
-- takes: version
WITH older AS MATERIALIZED (
  SELECT host_id FROM hosts h WHERE coalesce((to_jsonb(h) ->> 'knows')::integer, 9) < :version)
DELETE FROM hosts h USING older o
WHERE h.host_id = o.host_id AND pg_try_advisory_xact_lock(hashtext('waybill:' || current_schema()), o.host_id);

-- name: older_hosts
-- Names the hosts that know less than a migration asks for; null if there are none.
-- `:version`: the one that hosts must know.
-- takes: version
-- returns: names text?
SELECT string_agg(name || ' (version ' || coalesce(to_jsonb(h) ->> 'knows', '9 or older') || ')', ', ' ORDER BY host_id) AS names
FROM hosts h WHERE coalesce((to_jsonb(h) ->> 'knows')::integer, 9) < :version;

-- name: has_migrations_table
-- Whether there is a table of migrations that this role may read.
-- returns: is_there flag
SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false) AS is_there;

-- name: schema_version
-- Answers the schema's version, and the oldest version that a host must know. Databases of before 14 have no column
-- `runs_beside`.
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
