-- Refuses a move of a submission that neither pipeline_moves nor a repair allows.
CREATE OR REPLACE FUNCTION check_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path FROM CURRENT
AS $function$
BEGIN
  IF EXISTS (SELECT FROM pipeline_moves WHERE pipeline = NEW.pipeline AND from_state = OLD.state AND to_state = NEW.state) THEN
    RETURN NEW;
  END IF;
  IF EXISTS (SELECT FROM pipeline_repairs
             WHERE shard = NEW.shard AND submission_id = NEW.id AND from_state = OLD.state AND to_state = NEW.state) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'waybill: a submission of pipeline % cannot move from % to %', NEW.pipeline, OLD.state, NEW.state
    USING ERRCODE = 'check_violation';
END $function$;
