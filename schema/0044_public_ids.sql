-- Runs beside: 27
--
-- The key that ids of deliveries are shown with: in the order of their making they would tell each organisation how much all the others
-- send. Numbers that were shown before stay valid. A host of an older version goes on showing them.
--
-- Locks: none.

CREATE TABLE id_keys (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  key     bytea   NOT NULL CHECK (length(key) = 16)
);

INSERT INTO id_keys (key) VALUES (substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) FOR 16));

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES ('id_keys', 'SELECT', 'SELECT (is_only)', NULL, NULL);
