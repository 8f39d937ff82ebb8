-- API tokens, of which only hashes are stored. Used by token_store.cpp.

-- name: find_token
-- Finds a token, its organisation's name, whether that is disabled, what ended it, what it is for, and how long it lasts.
-- `:hash` is the SHA-256 of the token, `:hash_apart` the same as it is kept apart from hosts of version 23. `lasts` is in
-- microseconds.
-- takes: hash, hash_apart
-- returns: org_id number, name text, role text, org_name text, org_is_disabled flag, ended_as text, token_id number, public_id text
-- returns: targets text, paths text, lasts number?
SELECT t.org_id,
       t.name,
       CASE WHEN t.operates THEN 'operator' ELSE t.role END AS role,
       o.name AS org_name,
       o.disabled_at IS NOT NULL AS org_is_disabled,
       CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= now() THEN 'expired' ELSE '' END AS ended_as,
       t.token_id,
       t.public_id,
       coalesce(array_to_string(t.only_targets, E'\n'), '') AS targets,
       coalesce(array_to_string(t.only_paths, E'\n'), '') AS paths,
       micros(t.expires_at) - micros(now()) AS lasts
FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id
WHERE t.hash IN (:hash, :hash_apart);

-- name: find_org
-- Finds an organisation by its name.
-- takes: name
-- returns: org_id number
SELECT org_id FROM organisations WHERE name = :name;

-- name: retire_token
-- Revokes a token that has expired, so that its name is free again.
-- takes: org, name
UPDATE api_tokens SET revoked_at = expires_at
WHERE org_id = :org AND name = :name AND revoked_at IS NULL AND expires_at <= now();

-- name: free_hash
-- Gives free the hash of tokens that have ended: a certificate may be a token again.
-- `:hash` is the SHA-256 of the token, `:hash_apart` the same kept apart.
-- takes: hash, hash_apart
UPDATE api_tokens SET hash = sha256(hash || convert_to(public_id, 'UTF8'))
WHERE hash IN (:hash, :hash_apart) AND (revoked_at IS NOT NULL OR expires_at <= now());

-- name: token_of_hash
-- Finds who has a hash.
-- `:hash` is the SHA-256 of the token, `:hash_apart` the same kept apart.
-- takes: hash, hash_apart
-- returns: org_name text, name text, public_id text
SELECT o.name AS org_name, t.name, t.public_id FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id
WHERE t.hash IN (:hash, :hash_apart);

-- name: create_token
-- Stores a new token's hash. No row: the organisation has a live token of that name.
-- `:hash` is the SHA-256 of the token, perhaps kept apart; `:lasts` is in milliseconds, or null; `:targets` and `:paths` may be
-- null.
-- takes: org, name, role, hash, public_id, lasts, targets, paths, certificate
-- returns: created time, expires time?
INSERT INTO api_tokens (org_id, name, role, operates, hash, public_id, expires_at, only_targets, only_paths, certificate)
VALUES (:org, :name, CASE WHEN :role::text = 'operator' THEN 'owner' ELSE :role::text END, :role::text = 'operator', :hash,
        :public_id, now() + :lasts::bigint * interval '1 millisecond', :targets::text[], :paths::text[], :certificate::boolean)
ON CONFLICT (org_id, name) WHERE revoked_at IS NULL DO NOTHING RETURNING micros(created_at) AS created, micros(expires_at) AS expires;

-- name: tokens
-- Lists tokens.
-- `:org` is the name of their organisation, or null for all.
-- takes: org, also_revoked
-- returns: public_id text, name text, org_name text, role text, targets text, paths text
-- returns: created time, expires time?, used time?, revoked time?, certificate flag
SELECT t.public_id,
       t.name,
       o.name AS org_name,
       CASE WHEN t.operates THEN 'operator' ELSE t.role END AS role,
       coalesce(array_to_string(t.only_targets, E'\n'), '') AS targets,
       coalesce(array_to_string(t.only_paths, E'\n'), '') AS paths,
       micros(t.created_at) AS created,
       micros(t.expires_at) AS expires,
       micros(u.used_at) AS used,
       micros(t.revoked_at) AS revoked,
       t.certificate
FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id LEFT JOIN token_uses u ON u.token_id = t.token_id
WHERE (:org::text IS NULL OR o.name = :org) AND (:also_revoked::boolean OR t.revoked_at IS NULL)
ORDER BY o.name, t.revoked_at IS NOT NULL, t.name, t.token_id;

-- name: revoke_token
-- Revokes a live token. No row: there is none of that name.
-- `:org` is the name of the organisation.
-- takes: org, name
-- returns: token_id number
UPDATE api_tokens SET revoked_at = now()
WHERE revoked_at IS NULL AND name = :name AND org_id = (SELECT org_id FROM organisations WHERE name = :org)
RETURNING token_id;

-- name: revoke_token_by_id
-- Revokes a live token. No row: there is none of that id.
-- takes: public_id
-- returns: token_id number
UPDATE api_tokens SET revoked_at = now() WHERE revoked_at IS NULL AND public_id = :public_id RETURNING token_id;

-- name: note_token_uses
-- Notes when tokens were last used, to a minute, whichever hosts saw it: a host that saw it a minute later may say so a little early.
-- One element each per token; `:ages` are those of its last use, in microseconds.
-- takes: tokens, ages
INSERT INTO token_uses (token_id, used_at)
SELECT token_id, now() - ago * interval '1 microsecond'
FROM unnest(:tokens::bigint[], :ages::bigint[]) AS t(token_id, ago) ORDER BY token_id
ON CONFLICT (token_id) DO UPDATE SET used_at = excluded.used_at
WHERE token_uses.used_at < excluded.used_at - interval '59 seconds';
