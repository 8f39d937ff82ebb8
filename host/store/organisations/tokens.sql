-- API tokens, of which only hashes are stored. Used by token_store.cpp.

-- name: find_token
-- Finds a token, its organisation's name, whether that is disabled, what ended it, what it is for, and how long it lasts.
-- $1 SHA-256 of the token, $2 the same as it is kept apart from hosts of version 23
SELECT t.org_id, t.name, CASE WHEN t.operates THEN 'operator' ELSE t.role END, o.name, o.disabled_at IS NOT NULL,
       CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= now() THEN 'expired' ELSE '' END,
       t.token_id, t.public_id, coalesce(array_to_string(t.only_targets, E'\n'), ''), coalesce(array_to_string(t.only_paths, E'\n'), ''),
       micros(t.expires_at) - micros(now())
FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id
WHERE t.hash IN ($1, $2);

-- name: find_org
-- Finds an organisation by its name.
-- $1 name of the organisation
SELECT org_id FROM organisations WHERE name = $1;

-- name: retire_token
-- Revokes a token that has expired, so that its name is free again.
-- $1 organisation, $2 name
UPDATE api_tokens SET revoked_at = expires_at WHERE org_id = $1 AND name = $2 AND revoked_at IS NULL AND expires_at <= now();

-- name: free_hash
-- Gives free the hash of tokens that have ended: a certificate may be a token again.
-- $1 SHA-256 of the token, $2 the same kept apart
UPDATE api_tokens SET hash = sha256(hash || convert_to(public_id, 'UTF8'))
WHERE hash IN ($1, $2) AND (revoked_at IS NOT NULL OR expires_at <= now());

-- name: token_of_hash
-- Finds who has a hash.
-- $1 SHA-256 of the token, $2 the same kept apart
SELECT o.name, t.name, t.public_id FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id WHERE t.hash IN ($1, $2);

-- name: create_token
-- Stores a new token's hash. No row: the organisation has a live token of that name.
-- $1 organisation, $2 name, $3 role, $4 SHA-256 of the token, perhaps kept apart; $5 public id, $6 milliseconds that it lasts, or null;
-- $7 targets, $8 paths, or null; $9 whether it is a certificate
INSERT INTO api_tokens (org_id, name, role, operates, hash, public_id, expires_at, only_targets, only_paths, certificate)
VALUES ($1, $2, CASE WHEN $3::text = 'operator' THEN 'owner' ELSE $3::text END, $3::text = 'operator', $4, $5,
        now() + $6::bigint * interval '1 millisecond', $7::text[], $8::text[], $9::boolean)
ON CONFLICT (org_id, name) WHERE revoked_at IS NULL DO NOTHING RETURNING micros(created_at), micros(expires_at);

-- name: tokens
-- Lists tokens.
-- $1 name of their organisation, or null for all; $2 whether those that are revoked are listed, too
SELECT t.public_id, t.name, o.name, CASE WHEN t.operates THEN 'operator' ELSE t.role END,
       coalesce(array_to_string(t.only_targets, E'\n'), ''), coalesce(array_to_string(t.only_paths, E'\n'), ''),
       micros(t.created_at), micros(t.expires_at), micros(u.used_at), micros(t.revoked_at), t.certificate
FROM api_tokens t JOIN organisations o ON o.org_id = t.org_id LEFT JOIN token_uses u ON u.token_id = t.token_id
WHERE ($1::text IS NULL OR o.name = $1) AND ($2::boolean OR t.revoked_at IS NULL)
ORDER BY o.name, t.revoked_at IS NOT NULL, t.name, t.token_id;

-- name: revoke_token
-- Revokes a live token. No row: there is none of that name.
-- $1 name of the organisation, $2 name of the token
UPDATE api_tokens SET revoked_at = now()
WHERE revoked_at IS NULL AND name = $2 AND org_id = (SELECT org_id FROM organisations WHERE name = $1)
RETURNING token_id;

-- name: revoke_token_by_id
-- Revokes a live token. No row: there is none of that id.
-- $1 public id
UPDATE api_tokens SET revoked_at = now() WHERE revoked_at IS NULL AND public_id = $1 RETURNING token_id;

-- name: note_token_uses
-- Notes when tokens were last used, to a minute, whichever hosts saw it: a host that saw it a minute later may say so a little early.
-- Per token: $1 token, $2 microseconds since then
INSERT INTO token_uses (token_id, used_at)
SELECT token_id, now() - ago * interval '1 microsecond' FROM unnest($1::bigint[], $2::bigint[]) AS t(token_id, ago) ORDER BY token_id
ON CONFLICT (token_id) DO UPDATE SET used_at = excluded.used_at
WHERE token_uses.used_at < excluded.used_at - interval '59 seconds';
