-- Runs beside: 27
--
-- Functions: 6c6812e34a27d9a0b6c37051e61a024260790e7835e42cb6e384e353f78fb453
--
-- What an attempt sent goes on record for `waybill proof`: the SHA-256 of the body that went out, and the ids of the keys that signed it.
-- Attempts from before, and those of hosts of an earlier version, have neither.
--
-- An operator's own rate for a target, in place of the registry's, until it is cleared or its time is over. A host of an earlier version
-- does not know the table, and goes on by the registry's rate: replace those first.
--
-- Locks: `attempts` with its partitions, for a moment; nothing is rewritten.

ALTER TABLE attempts ADD COLUMN sent_hash bytea, ADD COLUMN signed_with text;

CREATE TABLE rate_orders (
  org_id  integer     NOT NULL,
  target  text        NOT NULL,  -- as in target_outages
  count   integer     NOT NULL CHECK (count > 0),
  per     bigint      NOT NULL CHECK (per > 0),  -- microseconds
  since   timestamptz NOT NULL DEFAULT now(),
  until   timestamptz,                           -- null: until it is cleared
  actor   text        NOT NULL,
  PRIMARY KEY (org_id, target)
);
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('rate_orders', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL);
UPDATE access_rules SET tenant = 'SELECT' WHERE table_name = 'artifacts';
