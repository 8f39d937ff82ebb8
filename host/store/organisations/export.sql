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
-- those that the organisation's submissions follow come along, with those that these start.
-- takes: org, tables, columns
-- returns: table_name text, columns text, condition text, key text, has_bytes flag
{{exported}}
SELECT e.relname AS table_name,
       c.names AS columns,
       CASE e.relname WHEN 'pipeline_versions' THEN format(
         'version_id IN (WITH RECURSIVE followed AS ('
         ' SELECT v.version_id, v.definition FROM pipeline_versions v'
         ' WHERE v.version_id IN (SELECT version_id FROM pipeline_submissions WHERE org_id = %s)'
         ' UNION SELECT v.version_id, v.definition FROM followed f CROSS JOIN LATERAL json_each_text(f.definition::json -> ''starts'') AS start'
         ' JOIN pipeline_versions v ON v.hash = decode(start.value, ''hex''))'
         ' SELECT version_id FROM followed)', :org::integer)
       ELSE format('org_id = %s', :org::integer) END AS condition,
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
