-- Runs beside: 24
--
-- What each host says of itself about once a second, for whoever asks why a delivery does not move. Not in `hosts`: a new version of a
-- row there is a sign of life. A host of an earlier version says nothing.
--
-- Locks: `hosts`, for a moment; it is small.

CREATE TABLE host_facts (
  host_id integer PRIMARY KEY REFERENCES hosts ON DELETE CASCADE,
  told_at timestamptz NOT NULL,
  facts   jsonb NOT NULL  -- host/app/host_facts.cpp writes them; a reader takes what it knows
) WITH (fillfactor = 50);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('host_facts', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL);
