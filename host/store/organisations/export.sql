-- Reading all of an organisation in one snapshot, as the tables' owner. Used by export_store.cpp.

-- name: org_to_export
-- Reads an organisation, the time of the snapshot, the version of the schema and the number of shards.
-- takes: name
-- returns: org_id number, now time, schema number, shards number
SELECT o.org_id,
       micros(now()) AS now,
       (SELECT max(version) FROM schema_migrations) AS schema,
       i.shards
FROM organisations o CROSS JOIN installation i WHERE o.name = :name;

-- name: exported_tables
-- Lists the tables to export, each behind those that it refers to, with what to read of them: their columns, quoted, which rows, and in which
-- order: that of the primary key. `:tables` are left out, and of others `:columns` ("channels.secret"). The versions of pipelines belong to nobody:
-- those that the organisation's submissions follow come along.
-- takes: org, tables, columns
-- returns: table_name text, columns text, condition text, key text, has_bytes flag
{{tables_of_orgs}},
exported AS (
  SELECT oid, relname, format('org_id = %s', :org::integer) AS condition, (SELECT max(depth) FROM depths d WHERE d.oid = of_orgs.oid) AS depth
  FROM of_orgs WHERE relname <> ALL (:tables::text[])
  UNION ALL SELECT 'organisations'::regclass::oid, 'organisations', format('org_id = %s', :org::integer), 1000
  UNION ALL SELECT 'pipeline_versions'::regclass::oid, 'pipeline_versions',
                   format('version_id IN (SELECT version_id FROM pipeline_submissions WHERE org_id = %s)', :org::integer), 999)
SELECT e.relname AS table_name,
       c.names AS columns,
       e.condition,
       coalesce(k.names, c.names) AS key,
       c.has_bytes
FROM exported e
CROSS JOIN LATERAL (
  SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS names, bool_or(a.atttypid = 'bytea'::regtype) AS has_bytes
  FROM pg_attribute a WHERE a.attrelid = e.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND e.relname || '.' || a.attname <> ALL (:columns::text[])) c
CROSS JOIN LATERAL (
  SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY p.place) AS names
  FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS p(column_number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = p.column_number
  WHERE i.indrelid = e.oid AND i.indisprimary) k
ORDER BY e.depth DESC, e.relname;

-- template: open_exported_rows
-- Opens the cursor over a table's rows, each as a JSON object. In braces stands what exported_tables says.
DECLARE exported_rows NO SCROLL CURSOR FOR
SELECT row_to_json(t) FROM (SELECT {columns} FROM {table} WHERE {condition} ORDER BY {key}) t;

-- template: next_exported_rows
-- The next {count} of them.
FETCH FORWARD {count} FROM exported_rows;

-- template: close_exported_rows
-- Ends it.
CLOSE exported_rows;

-- name: note_export
-- The line of an export in the audit.
-- takes: org, name, actor, rows, digest
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'organisation_exported', 'export', :actor, 'admin',
        jsonb_build_object('organisation', :name::text, 'orgId', :org::integer, 'rows', :rows::bigint, 'sha256', :digest::text));
