-- Text that the statements on whole organisations share.

-- part: tables_of_orgs
-- Every table that has organisations' rows: `of_orgs`, and in `depths` how many references lead to it from such tables.
WITH RECURSIVE of_orgs AS (
  SELECT c.oid, c.relname FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'organisations'
    AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped)),
depths AS (
  SELECT oid, 0 AS depth FROM of_orgs
  UNION
  SELECT f.confrelid, d.depth + 1 FROM depths d JOIN pg_constraint f ON f.contype = 'f' AND f.conrelid = d.oid AND f.confrelid <> f.conrelid
  WHERE f.confrelid IN (SELECT oid FROM of_orgs) AND d.depth < 100)

-- part: exported
-- Every table that an export has, and how many references lead to it. `:tables` are left out.
{{tables_of_orgs}},
exported AS (
  SELECT oid, relname, (SELECT max(depth) FROM depths d WHERE d.oid = of_orgs.oid) AS depth FROM of_orgs WHERE relname <> ALL (:tables::text[])
  UNION ALL SELECT 'organisations'::regclass::oid, 'organisations', 1000
  UNION ALL SELECT 'pipeline_versions'::regclass::oid, 'pipeline_versions', 999)
