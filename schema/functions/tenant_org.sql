-- The organisation of the transaction; null without the setting, and when it is not a number.
CREATE OR REPLACE FUNCTION tenant_org()
 RETURNS integer
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN current_setting('waybill.org', true) ~ '^[0-9]{1,9}$' THEN current_setting('waybill.org', true)::integer END
$function$;
