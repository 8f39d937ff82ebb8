-- What a host asks of its server before it uses it. Used by database_check.cpp.

-- name: durability
-- Whether commits are durable: what a session has that sets nothing itself (ours does, see Connection::open), and the server's
-- fsync. Runs in the simple protocol, which every pooler passes on.
-- returns: synchronous_commit text?, fsync text
SELECT (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit,
       current_setting('fsync') AS fsync;

-- name: missing_rights
-- Lists the rights that the session's role lacks on tables, columns and sequences, and the tables whose rows are hidden from it.
-- returns: role text, what text
WITH wanted AS (
  SELECT to_regclass(quote_ident(table_name)) AS place, table_name, one AS what
  FROM access_rules, regexp_split_to_table(application, ',\s*(?![^(]*\))') AS one),
missing AS (
  SELECT what || ' on ' || table_name AS what FROM wanted
  WHERE NOT CASE WHEN what LIKE '%(%' THEN (
          SELECT bool_and(has_column_privilege(place, trim(name), split_part(what, ' (', 1)))
          FROM regexp_split_to_table(substring(what FROM '\((.*)\)'), ',') AS name)
        ELSE has_table_privilege(place, what) END
  UNION ALL
  SELECT 'USAGE on sequence ' || relname FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace
    AND CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') ELSE false END
  UNION ALL
  SELECT 'a policy that shows the rows of ' || c.relname FROM pg_class c
  WHERE c.oid IN (SELECT place FROM wanted) AND c.relkind IN ('r', 'p') AND row_security_active(c.oid)
    AND NOT EXISTS (SELECT FROM pg_policy p, unnest(p.polroles) AS held(role)
                    WHERE p.polrelid = c.oid AND pg_get_expr(p.polqual, p.polrelid) = 'true' AND pg_has_role(held.role, 'USAGE')))
SELECT current_user AS role, what FROM missing ORDER BY what;

-- name: database_identity
-- Which database this is: its name, its id, and when its server started.
-- returns: name text, id text?, started text
SELECT current_database() AS name,
       (SELECT oid FROM pg_database WHERE datname = current_database()) AS id,
       pg_postmaster_start_time() AS started;

-- name: server_facts
-- What the server has room for: the session's role, the server's version, connections that are not kept for superusers, those that
-- others than Waybill have, and the limits of the role and of the database (-1: none).
-- returns: role text, version text, connections number, others number, role_limit number, database_limit number
SELECT current_user AS role,
  current_setting('server_version') AS version,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
  (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND application_name NOT LIKE 'waybill-%') AS others,
  coalesce((SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user), -1) AS role_limit,
  coalesce((SELECT datconnlimit FROM pg_database WHERE datname = current_database()), -1) AS database_limit;

-- name: old_transactions
-- Transactions that have been open for long, the oldest first: while one is, vacuum removes nothing that ended after its beginning. A
-- role without pg_read_all_stats sees the sessions of its own roles only, and all prepared transactions.
-- `:age`: milliseconds.
-- takes: age
-- returns: what text, seconds number
SELECT what, seconds FROM (
  SELECT format('session %s (application_name %s, %s)', pid, coalesce(nullif(application_name, ''), 'unset'), state) AS what,
         extract(epoch FROM now() - xact_start)::bigint AS seconds
  FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND datid IS NOT NULL AND xact_start <= now() - :age::bigint * interval '1 millisecond'
  UNION ALL
  SELECT format('prepared transaction %s', gid), extract(epoch FROM now() - prepared)::bigint
  FROM pg_prepared_xacts WHERE prepared <= now() - :age::bigint * interval '1 millisecond') AS found
ORDER BY seconds DESC, what LIMIT 5;
