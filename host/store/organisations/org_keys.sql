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

-- name: lost_keys
-- Lists data keys that are sealed with none of these master keys, each with its organisation and how many living channels need it.
-- $1 the master keys at hand
SELECT k.org_id, o.name, k.key_id, k.master,
       (SELECT count(*) FROM channels c WHERE c.org_id = k.org_id AND c.key_id = k.key_id AND c.deleted_at IS NULL)
FROM org_keys k JOIN organisations o USING (org_id) WHERE k.master <> ALL ($1::text[]) ORDER BY k.org_id, k.key_id;

-- name: replace_lost_key
-- Puts another data key in the place of one that nobody can open. No row: somebody else did, or another master key sealed it.
-- $1 organisation, $2 number, $3 master key, $4 sealed, $5 the lost master key
UPDATE org_keys SET master = $3, sealed = $4::bytea WHERE org_id = $1 AND key_id = $2 AND master = $5 RETURNING key_id;

-- name: channels_of_key
-- Locks and lists the channels whose secrets are sealed with a data key, deleted ones as well.
-- $1 organisation, $2 number
SELECT channel_id, name, deleted_at IS NULL FROM channels WHERE org_id = $1 AND key_id = $2 ORDER BY channel_id FOR UPDATE;

-- name: give_up_secret
-- Puts a new secret, which nobody knows, in the place of a lost one, and disables the channel.
-- $1 organisation, $2 channel, $3 sealed
UPDATE channels SET secret = $3::bytea, secondary_secret = NULL, rotated_at = NULL, failing_since = NULL, updated_at = now(),
                    disabled_at = now(), disabled_reason = 'its secret was lost with the master key: rotate it, then enable the channel'
WHERE org_id = $1 AND channel_id = $2::uuid;

-- name: audit_given_up
-- Writes the audit of a channel whose secret was given up.
-- $1 organisation, $2 actor, $3 channel, $4 name, $5 the lost master key
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), $1, 'channel_secret_given_up', 'keys give-up', $2, 'admin',
        jsonb_build_object('channel', $3::text, 'name', $4::text, 'master', $5::text));
