-- The data keys of organisations. Used by org_keys.cpp.

-- name: newest_org_key
-- Reads the organisation's newest data key, sealed.
-- $1 organisation
SELECT key_id, encode(sealed, 'hex') FROM org_keys WHERE org_id = $1 ORDER BY key_id DESC LIMIT 1;

-- name: add_org_key
-- Stores a data key, unless another host stored one of that number.
-- $1 organisation, $2 number, $3 the master key that sealed it, $4 sealed
INSERT INTO org_keys (org_id, key_id, master, sealed) VALUES ($1, $2, $3, $4::bytea) ON CONFLICT DO NOTHING;

-- name: org_key
-- Reads one of the organisation's data keys, sealed.
-- $1 organisation, $2 number
SELECT encode(sealed, 'hex') FROM org_keys WHERE org_id = $1 AND key_id = $2;

-- name: master_keys
-- Lists the master keys that data keys are sealed with.
SELECT DISTINCT master FROM org_keys;

-- name: keys_to_rewrap
-- Lists data keys that are not sealed with the newest master key.
-- $1 the newest master key, $2 rows
SELECT org_id, key_id, encode(sealed, 'hex') FROM org_keys WHERE master <> $1 ORDER BY org_id, key_id LIMIT $2::integer;

-- name: rewrap_key
-- Stores a data key as it is sealed now, unless somebody else did.
-- $1 organisation, $2 number, $3 master key, $4 sealed, $5 sealed before
UPDATE org_keys SET master = $3, sealed = $4::bytea WHERE org_id = $1 AND key_id = $2 AND sealed = $5::bytea;
