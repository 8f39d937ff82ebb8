-- Moves submissions that have ended or are blocked for long enough into the archive, with their attempts, audit and repairs. Answers how many.
CREATE OR REPLACE FUNCTION archive_submissions(of_shard smallint, ids bigint[], ended interval, blocked interval)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path FROM CURRENT
AS $function$
DECLARE
  ours bigint[];
  free bigint[];
  sent bigint[];
BEGIN
  ours := ARRAY(SELECT s.id FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ids) ORDER BY s.id FOR UPDATE SKIP LOCKED);
  ours := ARRAY(SELECT p.submission_id FROM pipeline_submissions p
                WHERE p.shard = of_shard AND p.submission_id = ANY (ours) AND (p.ended_at < now() - ended OR p.blocked_at < now() - blocked)
                ORDER BY p.submission_id FOR UPDATE SKIP LOCKED);
  free := ARRAY(SELECT r.delivery_id FROM submissions s
                JOIN ready r ON r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id AND r.delivery_id <> r.submission_id
                WHERE s.shard = of_shard AND s.id = ANY (ours) AND r.status <> 'claimed' FOR UPDATE OF r SKIP LOCKED);
  ours := ARRAY(SELECT s.id FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ours) AND NOT EXISTS (
                  SELECT FROM ready r WHERE r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id
                                        AND r.delivery_id <> r.submission_id AND r.delivery_id <> ALL (free)));
  IF cardinality(ours) = 0 THEN
    RETURN 0;
  END IF;
  INSERT INTO archived_submissions (shard, submission_id, org_id, client_ref, pipeline, state, reference, metadata, created_at, blocked_at,
                                    ended_at, record)
  SELECT of_shard, s.id, s.org_id, s.client_ref, s.pipeline, s.state, p.reference, p.metadata, s.created_at, p.blocked_at, p.ended_at,
         archive_record(of_shard, s.id)::text
  FROM submissions s JOIN pipeline_submissions p ON p.shard = s.shard AND p.submission_id = s.id
  WHERE s.shard = of_shard AND s.id = ANY (ours);
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT of_shard, s.id, now(), s.org_id, 'submission_archived', s.state, s.state, 'archive', 'archive', 'system'
  FROM submissions s WHERE s.shard = of_shard AND s.id = ANY (ours);
  sent := ARRAY(SELECT d.id FROM submissions s
                JOIN deliveries d ON d.shard = of_shard AND d.org_id = s.org_id AND d.submission_id = s.id AND d.id <> d.submission_id
                WHERE s.shard = of_shard AND s.id = ANY (ours))
          || ARRAY(SELECT r.delivery_id FROM ready r WHERE r.shard = of_shard AND r.delivery_id = ANY (free) AND r.submission_id = ANY (ours));
  DELETE FROM artifacts WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM edited_payloads WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM dead_letters WHERE shard = of_shard AND id = ANY (sent);
  DELETE FROM dead_letter_edits WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM deliveries WHERE shard = of_shard AND id = ANY (sent);
  DELETE FROM ready WHERE shard = of_shard AND delivery_id = ANY (sent);
  DELETE FROM pipeline_given WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_repairs WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_steps WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM pipeline_submissions WHERE shard = of_shard AND submission_id = ANY (ours);
  DELETE FROM submissions WHERE shard = of_shard AND id = ANY (ours);
  RETURN cardinality(ours);
END $function$;
