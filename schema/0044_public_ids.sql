-- Runs beside: 27
--
-- The key that ids of deliveries are shown with: in the order of their making they would tell each organisation how much all the others
-- send. Numbers that were shown before stay valid, later ones do not: whoever may try them can count as well. A host of an older version
-- goes on showing them.
--
-- Locks: none.

CREATE TABLE id_keys (
  is_only     boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  key         bytea   NOT NULL CHECK (length(key) = 16),
  shown_until bigint  NOT NULL
);

INSERT INTO id_keys (key, shown_until)
SELECT substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) FOR 16), CASE WHEN is_called THEN last_value ELSE 0 END * 1024 + 1023
FROM object_ids;

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES ('id_keys', 'SELECT', 'SELECT (is_only)', NULL, NULL);
