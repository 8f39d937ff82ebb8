-- What a plugin composed of a delivery, once, before its first send: the same bytes in every attempt.

CREATE TABLE artifacts (
  shard       smallint NOT NULL,
  delivery_id bigint NOT NULL,
  org_id      integer NOT NULL,
  media_type  text NOT NULL CHECK (length(media_type) BETWEEN 1 AND 255),
  body        bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, delivery_id)
);
CREATE TRIGGER artifacts_stay BEFORE UPDATE ON artifacts FOR EACH STATEMENT
  EXECUTE FUNCTION refuse('what was composed is sent as it is');

ALTER TABLE ready ADD COLUMN composed boolean NOT NULL DEFAULT false;  -- there is an artefact to be sent
