-- The time that is so many microseconds after 1970: the inverse of micros().
CREATE OR REPLACE FUNCTION at_micros(us bigint)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT timestamptz 'epoch' + us * interval '1 microsecond' $function$;
