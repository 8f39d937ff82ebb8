-- make_partitions_now() for callers who do not ask what was postponed. It has its owner's rights, so that the application role has
-- partitions made without owning anything.
CREATE OR REPLACE FUNCTION make_partitions(months_ahead integer)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path FROM CURRENT
AS $function$ SELECT made FROM make_partitions_now(months_ahead) $function$;
