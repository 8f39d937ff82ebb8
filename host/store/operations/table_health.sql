-- How the tables and indexes are, for `waybill doctor`, by the server's statistics: no table is read. Used by table_health.cpp.

-- name: tables_behind
-- Lists tables with more dead rows than autovacuum waits for, and those that it leaves alone; the most dead rows first. `since_vacuum` are the
-- microseconds since the last vacuum, or since the server's start.
-- returns: name text, dead number, awaited number, since_vacuum number?, is_left_alone flag
SELECT name, dead, awaited, since_vacuum, is_left_alone FROM (
  SELECT c.relname::text AS name,
         s.n_dead_tup AS dead,
         (coalesce((SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_vacuum_threshold'),
                   current_setting('autovacuum_vacuum_threshold'))::float8
          + coalesce((SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_vacuum_scale_factor'),
                     current_setting('autovacuum_vacuum_scale_factor'))::float8 * greatest(c.reltuples, 0))::bigint AS awaited,
         (extract(epoch FROM clock_timestamp() - coalesce(greatest(s.last_vacuum, s.last_autovacuum), pg_postmaster_start_time()))
          * 1000000)::bigint AS since_vacuum,
         coalesce((SELECT NOT option_value::boolean FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_enabled'),
                  false) AS is_left_alone
  FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r') AS t
WHERE is_left_alone OR dead > awaited ORDER BY dead DESC, name LIMIT 20;

-- name: queue_size
-- Answers the size of the queue's table and about how many rows it has.
-- returns: bytes number, about_rows number
SELECT pg_relation_size('ready') AS bytes, greatest(pg_stat_get_live_tuples('ready'::regclass), 0) AS about_rows;

-- name: odd_indexes
-- Lists indexes that are not valid, and large ones that nothing has used since the statistics began, or since the server's start, if that is long ago.
-- `:least_bytes`: of a large one. `:least_age`: milliseconds.
-- takes: least_bytes, least_age
-- returns: name text, of_table text, is_valid flag, bytes number
SELECT i.relname::text AS name, t.relname::text AS of_table, x.indisvalid AS is_valid, pg_relation_size(i.oid) AS bytes
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
LEFT JOIN pg_stat_user_indexes s ON s.indexrelid = x.indexrelid
WHERE t.relnamespace = current_schema()::regnamespace
  AND (NOT x.indisvalid
       OR s.idx_scan = 0 AND NOT x.indisunique AND pg_relation_size(i.oid) >= :least_bytes::bigint
          AND (SELECT coalesce(stats_reset, pg_postmaster_start_time()) FROM pg_stat_database WHERE datname = current_database())
              < clock_timestamp() - :least_age::bigint * interval '1 millisecond')
ORDER BY x.indisvalid, pg_relation_size(i.oid) DESC LIMIT 20;

-- name: months_of_logs
-- Whether the logs have their partitions of this month and the next, and whether the partition of what no month was made for has rows, by its
-- size: hosts may not read it.
-- returns: log text, month text, months_ahead number, is_there flag, default_has_rows flag
SELECT log, month, months_ahead, to_regclass(format('%I.%I', current_schema(), log || '_' || replace(month, '-', '_'))) IS NOT NULL AS is_there,
       coalesce(pg_relation_size(to_regclass(format('%I.%I', current_schema(), log || '_default'))) > 0, false) AS default_has_rows
FROM (SELECT log, n AS months_ahead,
             to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n), 'YYYY-MM') AS month
      FROM unnest(ARRAY['attempts', 'audit_log']) AS log, generate_series(0, 1) AS n) AS wanted
ORDER BY log, months_ahead;
