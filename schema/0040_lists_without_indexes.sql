-- Runs beside: 27
--
-- Lists of intents without indexes of their own, which cost intake a tenth. Every few thousand intents, maintenance notes which of them are
-- whose: one row for each organisation. What came in since then is found by the primary key. See docs/decisions/0040-lists-of-intents.md.
--
-- A host of version 27 lists intents beside this by reading all of an organisation's, which takes long where there are many.
--
-- Locks: `submissions`, for a moment.

-- Which intents of an organisation have ids above `above` and up to `upto`. Rows of one organisation do not overlap, and `listing` says up
-- to where they are complete.
CREATE TABLE listed_intents (
  org_id integer NOT NULL,
  above bigint NOT NULL,
  upto bigint NOT NULL,
  oldest timestamptz NOT NULL,  -- when the first and the last of them were created
  newest timestamptz NOT NULL,
  intents integer NOT NULL,     -- how many
  targets text[] NOT NULL,
  ids bigint[] NOT NULL,
  target_places smallint[] NOT NULL,  -- of each id, the place of its target in `targets`
  PRIMARY KEY (org_id, above)
);

CREATE TABLE listing (
  only_row boolean DEFAULT true PRIMARY KEY CHECK (only_row),
  upto bigint NOT NULL
);
INSERT INTO listing (upto) VALUES (0);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('listed_intents', 'SELECT, INSERT, DELETE', 'SELECT', NULL, 'SELECT'),
  ('listing',        'SELECT, UPDATE',         'SELECT', NULL, 'SELECT');

-- The transactions that may have written to `submissions` and have not ended. The lock is taken before the first id, so whoever has an id
-- and is not among these has ended.
CREATE FUNCTION submission_writers() RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'submissions'::regclass AND granted AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;
REVOKE ALL ON FUNCTION submission_writers() FROM PUBLIC;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION submission_writers() SET search_path TO %I, pg_temp', current_schema());
END $$;

DROP INDEX submissions_intents, submissions_intents_of;
