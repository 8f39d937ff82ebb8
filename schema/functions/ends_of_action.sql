-- Whom a delivery's report names: those who have it, and those who do not. The report is what a plugin says in `result`:
-- {"accepted": [address, ...], "refused": [{"address": ...}, ...]}. A replay begins with the report of the delivery before it: who had
-- it then did not get it now. An end is audited with one row for each row of this; one without a report is one row without names.
CREATE OR REPLACE FUNCTION ends_of_action(status delivery_status, report jsonb, before jsonb)
 RETURNS TABLE(is_done boolean, recipients jsonb)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  WITH got AS (
    SELECT jsonb_agg(a.address ORDER BY a.place) AS names
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(report -> 'accepted') = 'array' THEN report -> 'accepted' ELSE '[]' END)
      WITH ORDINALITY AS a(address, place)
    WHERE jsonb_typeof(a.address) = 'string'
      AND NOT (jsonb_typeof(before -> 'accepted') IS NOT DISTINCT FROM 'array' AND before -> 'accepted' @> a.address)),
  lost AS (
    SELECT jsonb_agg(r.refusal -> 'address' ORDER BY r.place) AS names
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(report -> 'refused') = 'array' THEN report -> 'refused' ELSE '[]' END)
      WITH ORDINALITY AS r(refusal, place)
    WHERE jsonb_typeof(r.refusal -> 'address') = 'string')
  SELECT true, got.names FROM got WHERE status = 'accepted' OR got.names IS NOT NULL
  UNION ALL
  SELECT false, lost.names FROM lost WHERE status <> 'accepted'
$function$;
