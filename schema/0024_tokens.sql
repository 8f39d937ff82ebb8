-- Runs beside: 23
--
-- Tokens with a public id, an end, a scope, and their last use; and the role `operator`, for what is about the whole installation.
--
-- A host of version 23 knows no ends, no scopes, and takes every owner of `default` for an operator. So the hash of a token that it would
-- give too much is kept in a form that it does not find (host/store/organisations/token_store.cpp): it answers 401 to that token. An operator's row says
-- `owner`, which makes it an operator there as well. Owners of `default` that were there before become operators.
--
-- Locks: `api_tokens`, for a moment; it is small.

ALTER TABLE api_tokens
  ADD COLUMN public_id    text NOT NULL DEFAULT left(replace(gen_random_uuid()::text, '-', ''), 12) UNIQUE,  -- in the token, and in the log
  ADD COLUMN operates     boolean NOT NULL DEFAULT false,  -- its role is `operator`
  ADD COLUMN expires_at   timestamptz,
  ADD COLUMN only_targets text[] CHECK (cardinality(only_targets) > 0),  -- null: all
  ADD COLUMN only_paths   text[] CHECK (cardinality(only_paths) > 0),
  ADD COLUMN certificate  boolean NOT NULL DEFAULT false;  -- the hash is that of a client's certificate
UPDATE api_tokens SET operates = true WHERE org_id = 1 AND role = 'owner';
ALTER TABLE api_tokens ADD CHECK (NOT operates OR (org_id = 1 AND role = 'owner'));

-- When a token was last used: apart, so that nobody who locks tokens holds up those who note their use, nor the other way round.
CREATE TABLE token_uses (
  token_id bigint      PRIMARY KEY,
  used_at  timestamptz NOT NULL  -- to a minute
);

UPDATE access_rules SET reader = 'SELECT (token_id, org_id, name, role, created_at, revoked_at, public_id, operates, expires_at, only_targets,'
  ' only_paths, certificate)' WHERE table_name = 'api_tokens';
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('token_uses', 'SELECT, INSERT, UPDATE', 'SELECT', NULL, NULL);
