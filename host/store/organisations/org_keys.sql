-- The data keys of organisations. Used by org_keys.cpp.

-- name: newest_org_key
-- Reads the organisation's newest data key, sealed.
-- takes: org
-- returns: key_id number, sealed text
SELECT key_id, encode(sealed, 'hex') AS sealed FROM org_keys WHERE org_id = :org ORDER BY key_id DESC LIMIT 1;

-- name: add_org_key
-- Stores a data key, unless another host stored one of that number.
-- takes: org, key, master, sealed
INSERT INTO org_keys (org_id, key_id, master, sealed) VALUES (:org, :key, :master, :sealed::bytea) ON CONFLICT DO NOTHING;

-- name: org_key
-- Reads one of the organisation's data keys, sealed.
-- takes: org, key
-- returns: sealed text
SELECT encode(sealed, 'hex') AS sealed FROM org_keys WHERE org_id = :org AND key_id = :key;

-- name: master_keys
-- Lists the master keys that data keys are sealed with.
-- returns: master text
SELECT DISTINCT master FROM org_keys;

-- name: keys_to_rewrap
-- Lists data keys that are not sealed with the newest master key.
-- takes: newest_master, most
-- returns: org_id number, key_id number, sealed text
SELECT org_id, key_id, encode(sealed, 'hex') AS sealed FROM org_keys
WHERE master <> :newest_master ORDER BY org_id, key_id LIMIT :most::integer;

-- name: rewrap_key
-- Stores a data key as it is sealed now, unless somebody else did.
-- takes: org, key, master, sealed, sealed_before
UPDATE org_keys SET master = :master, sealed = :sealed::bytea WHERE org_id = :org AND key_id = :key AND sealed = :sealed_before::bytea;

-- name: lost_keys
-- Lists data keys that are sealed with none of these master keys, each with its organisation and how many living channels need it.
-- `:masters` are the master keys at hand.
-- takes: masters
-- returns: org_id number, name text, key_id number, master text, channels number
SELECT k.org_id,
       o.name,
       k.key_id,
       k.master,
       (SELECT count(*) FROM channels c WHERE c.org_id = k.org_id AND c.key_id = k.key_id AND c.deleted_at IS NULL) AS channels
FROM org_keys k JOIN organisations o USING (org_id) WHERE k.master <> ALL (:masters::text[]) ORDER BY k.org_id, k.key_id;

-- name: replace_lost_key
-- Puts another data key in the place of one that nobody can open. No row: somebody else did, or another master key sealed it.
-- takes: org, key, master, sealed, lost_master
-- returns: key_id number
UPDATE org_keys SET master = :master, sealed = :sealed::bytea WHERE org_id = :org AND key_id = :key AND master = :lost_master
RETURNING key_id;

-- name: channels_of_key
-- Locks and lists the channels whose secrets are sealed with a data key, deleted ones as well.
-- takes: org, key
-- returns: channel_id text, name text, is_living flag
SELECT channel_id, name, deleted_at IS NULL AS is_living FROM channels
WHERE org_id = :org AND key_id = :key ORDER BY channel_id FOR UPDATE;

-- name: give_up_secret
-- Puts a new secret, which nobody knows, in the place of a lost one, and disables the channel.
-- takes: org, channel, sealed
UPDATE channels SET secret = :sealed::bytea, secondary_secret = NULL, rotated_at = NULL, failing_since = NULL, updated_at = now(),
                    disabled_at = now(), disabled_reason = 'its secret was lost with the master key: rotate it, then enable the channel'
WHERE org_id = :org AND channel_id = :channel::uuid;

-- name: audit_given_up
-- Writes the audit of a channel whose secret was given up.
-- takes: org, actor, channel, name, lost_master
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), :org, 'channel_secret_given_up', 'keys give-up', :actor, 'admin',
        jsonb_build_object('channel', :channel::text, 'name', :name::text, 'master', :lost_master::text));
