-- What retention deletes, with the owner's rights: nobody else deletes a submission. Kept is what has not ended or has a dead
-- letter that nobody has replayed.
CREATE OR REPLACE FUNCTION delete_old(of_shard smallint, ids bigint[])
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path FROM CURRENT
AS $function$
  WITH old AS MATERIALIZED (
    SELECT s.id, s.org_id FROM submissions s
    WHERE s.shard = of_shard AND s.id = ANY (ids)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.delivery_id = s.id)
      AND NOT EXISTS (SELECT FROM ready r WHERE r.shard = of_shard AND r.org_id = s.org_id AND r.submission_id = s.id
                                            AND r.delivery_id <> r.submission_id)
      AND NOT EXISTS (SELECT FROM dead_letters l WHERE l.shard = of_shard AND l.id = s.id AND l.replayed_at IS NULL)
      AND NOT EXISTS (SELECT FROM deliveries d JOIN dead_letters l ON l.shard = d.shard AND l.id = d.id
                      WHERE d.shard = of_shard AND d.org_id = s.org_id AND d.submission_id = s.id AND d.id <> d.submission_id
                        AND l.replayed_at IS NULL)),
  sent AS MATERIALIZED (
    SELECT id FROM old
    UNION ALL SELECT d.id FROM old o JOIN deliveries d ON d.shard = of_shard AND d.org_id = o.org_id AND d.submission_id = o.id
                                                        AND d.id <> d.submission_id),
  a AS (DELETE FROM artifacts x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  b AS (DELETE FROM edited_payloads x USING sent s WHERE x.shard = of_shard AND x.delivery_id = s.id),
  c AS (DELETE FROM notification_events x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  d AS (DELETE FROM notifications x USING old o WHERE x.shard = of_shard AND x.delivery_id = o.id),
  l AS (DELETE FROM dead_letters x USING sent s WHERE x.shard = of_shard AND x.id = s.id),
  e AS (DELETE FROM deliveries x USING sent s WHERE x.shard = of_shard AND x.id = s.id),
  f AS (DELETE FROM submissions x USING old o WHERE x.shard = of_shard AND x.id = o.id)
  SELECT count(*) FROM old
$function$;
