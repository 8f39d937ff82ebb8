-- What the program's own tables forbid, the database forbids as well.
CREATE OR REPLACE FUNCTION refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'waybill: % on % is not allowed', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation', HINT = TG_ARGV[0];
END $function$;
