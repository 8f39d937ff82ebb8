-- Runs beside: 27
--
-- Functions: cb7c0cc1beac49e6efe9a46fb0ae0d959b6123e256a5722979edbda276597150
--
-- The functions of this schema have one home from here on: schema/functions/, a file for each name. `waybill migrate` applies them when
-- their text has changed, after the migrations, and notes the hash of what it applied.
--
-- Locks: none.

CREATE TABLE schema_functions (
  is_one     boolean     PRIMARY KEY DEFAULT true CHECK (is_one),  -- one row
  hash       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('schema_functions', 'SELECT', 'SELECT', NULL, NULL);
