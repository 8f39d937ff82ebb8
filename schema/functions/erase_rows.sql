-- Deletes the rows that a disabled organisation has in some pages of a table, or of a leaf partition, and adds them to what is known of its erasure:
-- how many, their times by the first column that is one, and a digest of their keys, chained. Answers how many.
CREATE OR REPLACE FUNCTION erase_rows(org integer, leaf regclass, name text, first_page bigint, pages integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
DECLARE
  key  text;
  at   text;
  gone record;
BEGIN
  PERFORM FROM organisations WHERE org_id = org AND disabled_at IS NOT NULL FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'organisation % was enabled meanwhile: nothing more of it is erased', org USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  SELECT string_agg(format('t.%I', a.attname), ', ' ORDER BY k.place) INTO key
  FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(column_number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.column_number
  WHERE i.indrelid = leaf AND i.indisprimary;
  SELECT format('t.%I', a.attname) INTO at FROM pg_attribute a
  WHERE a.attrelid = leaf AND a.atttypid = 'timestamptz'::regtype AND NOT a.attisdropped ORDER BY a.attnotnull DESC, a.attnum LIMIT 1;
  PERFORM set_config('waybill.erased_org', org::text, true);
  EXECUTE format('WITH gone AS (DELETE FROM ONLY %s t WHERE t.ctid >= $2 AND t.ctid < $3 AND t.org_id = $1 RETURNING ROW(%s)::text AS key, %s AS at)'
                 ' SELECT count(*) AS rows, min(at) AS oldest, max(at) AS newest, string_agg(key, E''\n'' ORDER BY key) AS keys FROM gone',
                 leaf, coalesce(key, 't.*'), coalesce(at, 'NULL::timestamptz'))
  INTO gone USING org, format('(%s,0)', first_page)::tid, format('(%s,0)', first_page + pages)::tid;
  PERFORM set_config('waybill.erased_org', '', true);
  IF gone.rows > 0 THEN
    INSERT INTO erasures AS e (erased_org, table_name, rows, oldest, newest, digest)
    VALUES (org, name, gone.rows, gone.oldest, gone.newest, encode(sha256(convert_to(gone.keys, 'UTF8')), 'hex'))
    ON CONFLICT (erased_org, table_name) DO UPDATE SET
      rows = e.rows + excluded.rows, oldest = least(e.oldest, excluded.oldest), newest = greatest(e.newest, excluded.newest),
      digest = encode(sha256(convert_to(e.digest || excluded.digest, 'UTF8')), 'hex');
  END IF;
  RETURN gone.rows;
END $function$;
