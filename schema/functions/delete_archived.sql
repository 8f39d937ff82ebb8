-- Deletes up to `rows` of what was archived longer than `age` ago. Answers how many.
CREATE OR REPLACE FUNCTION delete_archived(age interval, rows integer)
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path FROM CURRENT
AS $function$
  WITH gone AS (
    DELETE FROM archived_submissions a USING (
      SELECT shard, submission_id FROM archived_submissions WHERE archived_at < now() - age
      ORDER BY archived_at LIMIT rows FOR UPDATE SKIP LOCKED) old
    WHERE a.shard = old.shard AND a.submission_id = old.submission_id RETURNING 1)
  SELECT count(*) FROM gone
$function$;
