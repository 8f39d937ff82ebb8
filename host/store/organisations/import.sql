-- Reading an organisation's file into a database, in one transaction, as the tables' owner. Used by import_store.cpp, import_staging.cpp and
-- import_insertion.cpp. Rows and the ids in them stand in temporary tables first; templates name those, which are there for that transaction only.

-- name: place_for_import
-- Whether a name is taken, whether a number is or was some organisation's, the version of the schema and the number of shards.
-- takes: name, number
-- returns: is_taken flag, is_used flag, schema number, shards number
SELECT EXISTS (SELECT FROM organisations WHERE name = :name) AS is_taken,
       EXISTS (SELECT FROM organisations WHERE org_id = :number::integer)
         OR EXISTS (SELECT FROM erasures WHERE erased_org = :number::integer)
         OR EXISTS (SELECT FROM audit_log WHERE shard = 0 AND submission_id = 0 AND action = 'organisation_erasure_begun'
                                            AND metadata ->> 'orgId' = :number::integer::text) AS is_used,
       (SELECT max(version) FROM schema_migrations) AS schema,
       shards
FROM installation;

-- name: next_org_number
-- Takes a number that no organisation has had.
-- returns: number number
SELECT nextval(pg_get_serial_sequence('organisations', 'org_id')) AS number;

-- name: keep_org_number
-- Sees to it that the organisations to come get numbers above this one. No row: they do.
-- takes: number
-- returns: number number
SELECT setval(pg_get_serial_sequence('organisations', 'org_id'), :number::bigint) AS number
WHERE coalesce(pg_sequence_last_value(pg_get_serial_sequence('organisations', 'org_id')::regclass), 0) < :number::bigint;

-- name: imported_columns
-- Lists the columns of the tables that an import fills, each table behind those that it refers to: whether a row of a file has it, whether it has an
-- array or a time, and what is inserted there of the staged row s and its record r; null: nothing. `:tables` and `:columns` are left out of files. What is
-- not taken as it is stands in `:mapped_tables`, `:mapped_columns`, `:kinds` and `:sources`, which have one element each per column
-- (import_columns.h). `:org`, `:name` and `:token` are what the organisation gets.
-- takes: tables, columns, mapped_tables, mapped_columns, kinds, sources, org, name, token
-- returns: table_name text, column_name text, quoted text, is_in_file flag, is_array flag, is_time flag, value text?
{{exported}}
SELECT e.relname AS table_name,
       a.attname AS column_name,
       quote_ident(a.attname) AS quoted,
       e.relname || '.' || a.attname <> ALL (:columns::text[]) AS is_in_file,
       t.typcategory = 'A' AS is_array,
       t.oid = 'timestamptz'::regtype AS is_time,
       CASE coalesce(m.kind, CASE WHEN e.relname || '.' || a.attname <> ALL (:columns::text[]) THEN 'as it is' ELSE 'left out' END)
         WHEN 'left out' THEN NULL
         WHEN 'anew' THEN NULL
         WHEN 'as it is' THEN format('r.%I', a.attname)
         WHEN 'org' THEN (:org::integer)::text
         WHEN 'name' THEN quote_literal(:name::text)
         WHEN 'token' THEN format('CASE WHEN r.%I IS NOT NULL THEN %s END', a.attname, :token::bigint)
         WHEN 'host' THEN format('CASE WHEN r.%I IS NOT NULL THEN 0 END', a.attname)
         WHEN 'key' THEN '1'
         WHEN 'secret' THEN quote_literal('\x') || '::bytea'
         WHEN 'home' THEN 's.home'
         WHEN 'shard' THEN format('(SELECT i.fresh & 1023 FROM imported_ids i WHERE i.kind = ''object'' AND i.old = r.%I)::smallint', m.source)
         ELSE CASE WHEN t.typcategory = 'A'
                   THEN format('ARRAY(SELECT i.fresh FROM unnest(r.%I) WITH ORDINALITY AS one(old, place) '
                               'JOIN imported_ids i ON i.kind = %L AND i.old = one.old ORDER BY one.place)::%s',
                               a.attname, m.kind, format_type(a.atttypid, a.atttypmod))
                   ELSE format('(SELECT i.fresh FROM imported_ids i WHERE i.kind = %L AND i.old = r.%I)::%s',
                               m.kind, a.attname, format_type(a.atttypid, a.atttypmod)) END
       END AS value
FROM exported e
JOIN pg_attribute a ON a.attrelid = e.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN unnest(:mapped_tables::text[], :mapped_columns::text[], :kinds::text[], :sources::text[]) AS m(table_name, column_name, kind, source)
  ON m.column_name = a.attname AND m.table_name IN (e.relname, '*')
ORDER BY e.depth DESC, e.relname, a.attnum;

-- template: make_staged_rows
-- The rows of the file, with the shard of those that tell theirs.
CREATE TEMPORARY TABLE imported_rows (
  table_name text NOT NULL, line bigint NOT NULL, home smallint, row jsonb NOT NULL, PRIMARY KEY (table_name, line)) ON COMMIT DROP;

-- template: make_imported_ids
-- What each id in them becomes.
CREATE TEMPORARY TABLE imported_ids (
  kind text NOT NULL, old bigint NOT NULL, home smallint, fresh bigint, PRIMARY KEY (kind, old)) ON COMMIT DROP;

-- template: stage_rows
-- Stages lines of the file; the arrays have one element each per line.
-- takes: table_names, numbers, homes, lines
INSERT INTO imported_rows (table_name, line, home, row)
SELECT t.table_name, t.number, t.home, t.text::jsonb -> 'row'
FROM unnest(:table_names::text[], :numbers::bigint[], :homes::smallint[], :lines::text[]) AS t(table_name, number, home, text);

-- template: collect_ids
-- Notes the ids of a kind in a column. In braces stand literals.
INSERT INTO imported_ids (kind, old)
SELECT {kind}, (row ->> {column})::bigint FROM imported_rows WHERE table_name = {table} AND row ->> {column} IS NOT NULL
ON CONFLICT DO NOTHING;

-- template: collect_ids_of_arrays
-- The same of a column of arrays.
INSERT INTO imported_ids (kind, old)
SELECT {kind}, one.id::bigint FROM imported_rows CROSS JOIN LATERAL jsonb_array_elements_text(row -> {column}) AS one(id)
WHERE table_name = {table} AND jsonb_typeof(row -> {column}) = 'array'
ON CONFLICT DO NOTHING;

-- template: find_homes
-- Notes the shard of submissions whose rows tell it.
UPDATE imported_ids i SET home = r.home FROM imported_rows r
WHERE r.table_name = {table} AND r.home IS NOT NULL AND i.kind = 'object' AND i.old = (r.row ->> {column})::bigint AND i.home IS NULL;

-- template: follow_homes
-- Notes the shard of deliveries: that of their submissions.
UPDATE imported_ids i SET home = h.home
FROM imported_rows r JOIN imported_ids h ON h.kind = 'object' AND h.old = (r.row ->> {source})::bigint
WHERE r.table_name = {table} AND i.kind = 'object' AND i.old = (r.row ->> {column})::bigint AND i.home IS NULL AND h.home IS NOT NULL;

-- template: lock_submissions
-- Before the first id, as submission_writers() asks for.
LOCK TABLE submissions IN ROW EXCLUSIVE MODE;

-- template: give_ids
-- Gives each id a new one, in the order of the old ones. What is 0 stands for nothing, and stays. The shard of what nothing tells is as good as any.
UPDATE imported_ids i SET fresh = n.fresh
FROM (
  SELECT kind, old,
         CASE WHEN old <= 0 THEN old
              WHEN kind = 'object' THEN nextval('object_ids') * 1024 + coalesce(home, (old & 1023) % {shards})
              WHEN kind = 'number' THEN nextval('object_ids')
              WHEN kind = 'event' THEN nextval(pg_get_serial_sequence('alert_events', 'event_no'))
              WHEN kind = 'route' THEN nextval(pg_get_serial_sequence('contract_snapshots', 'route_id')) END AS fresh
  FROM (SELECT kind, old, home FROM imported_ids ORDER BY kind, old) ordered) n
WHERE i.kind = n.kind AND i.old = n.old;

-- template: analyze_staged_rows
-- So that the statements to come are planned for what there is.
ANALYZE imported_rows;

-- template: analyze_imported_ids
-- The same.
ANALYZE imported_ids;

-- template: next_imported_version
-- The next version of a pipeline behind a line.
SELECT line, row ->> 'version_id' AS version_id, row ->> 'pipeline' AS pipeline, row ->> 'hash' AS hash, row ->> 'definition' AS definition
FROM imported_rows WHERE table_name = 'pipeline_versions' AND line > {line} ORDER BY line LIMIT 1;

-- template: note_imported_version
-- What a version's id becomes.
INSERT INTO imported_ids (kind, old, fresh) VALUES ('version', {old}, {fresh}) ON CONFLICT (kind, old) DO UPDATE SET fresh = excluded.fresh;

-- template: imported_open_work
-- How many deliveries of the file are open, by target.
SELECT coalesce((c.row ->> 'contract')::jsonb ->> 'target', '?') AS target, count(*) AS open
FROM imported_rows r LEFT JOIN imported_rows c ON c.table_name = 'contract_snapshots' AND c.row ->> 'route_id' = r.row ->> 'route_id'
WHERE r.table_name = 'ready' GROUP BY 1 ORDER BY 2 DESC, 1;

-- template: imported_lines
-- Which lines of the file are a table's.
SELECT coalesce(min(line), 0) AS first, coalesce(max(line), -1) AS last FROM imported_rows WHERE table_name = {table};

-- template: save_import
-- Where a table begins.
SAVEPOINT imported_table;

-- template: reset_import
-- Back to where it began.
ROLLBACK TO SAVEPOINT imported_table;

-- template: release_import
-- It is in.
RELEASE SAVEPOINT imported_table;

-- template: insert_imported_rows
-- Inserts the rows of some lines. `{relation}` is the table's name, quoted; `{columns}` and `{values}` are what imported_columns says.
INSERT INTO {relation} ({columns}) OVERRIDING SYSTEM VALUE
SELECT {values} FROM imported_rows s CROSS JOIN LATERAL jsonb_populate_record(NULL::{relation}, s.row) r
WHERE s.table_name = {table} AND s.line BETWEEN {first} AND {last} ORDER BY s.line;

-- template: try_imported_column
-- Fails if the value of a column of a row is not of its type.
SELECT jsonb_populate_record(NULL::{relation}, jsonb_build_object({column}, row -> {column})) IS NULL AS is_null
FROM imported_rows WHERE table_name = {table} AND line = {line};

-- name: free_imported_claims
-- Lets hosts rescue at once what another installation's host had claimed, as if that had died.
-- takes: org
INSERT INTO claims (shard, token, host_id, lease_until, deliveries)
SELECT shard, claim_token, 0, timestamptz 'epoch', array_agg(delivery_id) FROM ready
WHERE org_id = :org AND status = 'claimed' GROUP BY shard, claim_token;

-- name: seal_imported_channel
-- Puts a secret that nobody knows in a channel's place for it, and disables the channel.
-- takes: org, channel, sealed
UPDATE channels SET secret = :sealed::bytea, failing_since = NULL, disabled_at = now(),
                    disabled_reason = 'imported without its secret: rotate it and give the receiver the new one, then enable the channel'
WHERE org_id = :org AND channel_id = :channel::uuid;

-- name: note_import
-- The line of an import in the audit.
-- takes: actor, org, name, old_name, old_org, exported_at, program, rows, digest
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'organisation_imported', 'import', :actor, 'admin',
        jsonb_build_object('organisation', :name::text, 'orgId', :org::integer, 'rows', :rows::bigint, 'sha256', :digest::text,
                           'from', jsonb_build_object('organisation', :old_name::text, 'orgId', :old_org::integer,
                                                      'exportedAt', :exported_at::text, 'program', :program::text)));
