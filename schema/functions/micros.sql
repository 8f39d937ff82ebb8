-- STABLE like their bodies, or they would not be inlined. The double is exact to the microsecond until the year 2255.
CREATE OR REPLACE FUNCTION micros(t timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT (date_part('epoch', t) * 1000000)::bigint $function$;
