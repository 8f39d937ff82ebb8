-- API tokens, of which only hashes are stored. Used by token_store.cpp.

-- name: find_token
-- Finds a live token, its organisation's name, and whether that is disabled.
-- $1 SHA-256 of the token
SELECT t.org_id, t.name, t.role, o.name, o.disabled_at IS NOT NULL FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id
WHERE t.hash = $1 AND t.revoked_at IS NULL;

-- name: find_org
-- Finds an organisation by its name.
-- $1 name of the organisation
SELECT org_id FROM organisations WHERE name = $1;

-- name: create_token
-- Stores a new token's hash. No row: the organisation has a live token of that name.
-- $1 organisation, $2 name, $3 role, $4 SHA-256 of the token
INSERT INTO api_tokens (org_id, name, role, hash) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING token_id;

-- name: revoke_token
-- Revokes a live token. No row: there is none of that name.
-- $1 name of the organisation, $2 name of the token
UPDATE api_tokens SET revoked_at = now()
WHERE revoked_at IS NULL AND name = $2 AND org_id = (SELECT org_id FROM organisations WHERE name = $1)
RETURNING token_id;
