-- What is stored as bytes, as JSON: what is none comes as a text of its hexadecimal digits.
CREATE OR REPLACE FUNCTION as_json(bytes bytea)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
BEGIN
  RETURN convert_from(bytes, 'UTF8')::json;
EXCEPTION WHEN data_exception THEN
  RETURN to_json(encode(bytes, 'hex'));
END $function$;
