-- Which registries were in force. Used by registry_version_store.cpp.

-- name: lock_registry_versions
-- Hosts that come to the same registry at once note it one after the other. Held until the transaction ends.
-- returns: locked text
SELECT pg_advisory_xact_lock(hashtext('waybill-registry:' || current_schema())) AS locked;

-- name: newest_registry
-- Answers the version that came into force last; no row if none did.
-- returns: version number, digest text
SELECT v.version, v.digest
FROM registry_changes c JOIN registry_versions v ON v.version = c.version ORDER BY c.change_id DESC LIMIT 1;

-- name: registry_files_of
-- Lists the files of a version.
-- takes: version
-- returns: path text, content text
SELECT path, encode(content, 'hex') AS content FROM registry_files WHERE version = :version ORDER BY path;

-- name: store_registry
-- Stores a version that is new, without its files. No row: it is there.
-- takes: digest
-- returns: version number
INSERT INTO registry_versions (digest) SELECT :digest::text
WHERE NOT EXISTS (SELECT FROM registry_versions WHERE digest = :digest::text) RETURNING version;

-- name: store_registry_file
-- Stores a file of a version.
-- takes: version, path, content
INSERT INTO registry_files (version, path, content) VALUES (:version, :path, :content::bytea);

-- name: note_registry
-- Notes that the version of this digest has come into force. Forgets versions that only older changes than the newest `:most` name.
-- takes: digest, host, actor, trigger, added, changed, removed, most
-- returns: version number
WITH old AS (
  DELETE FROM registry_versions v
  WHERE v.digest <> :digest::text
    AND v.version NOT IN (SELECT version FROM registry_changes ORDER BY change_id DESC LIMIT :most::integer))
INSERT INTO registry_changes (version, host, actor, trigger, added, changed, removed)
SELECT v.version, :host::text, :actor::text, :trigger::text, :added::integer, :changed::integer, :removed::integer
FROM registry_versions v WHERE v.digest = :digest::text RETURNING version;

-- name: registry_changes
-- Lists what came into force, the newest first, before a given change (or 0).
-- takes: before, most
-- returns: change_id number, version number, digest text, at time, host text, actor text, trigger text
-- returns: added number, changed number, removed number
SELECT c.change_id, c.version, v.digest, micros(c.changed_at) AS at, c.host, c.actor, c.trigger, c.added, c.changed, c.removed
FROM registry_changes c JOIN registry_versions v ON v.version = c.version
WHERE :before::bigint = 0 OR c.change_id < :before::bigint
ORDER BY c.change_id DESC LIMIT :most::integer;

-- name: registry_version
-- Reads a version and when it was in force for the first time; no row if there is none.
-- takes: version
-- returns: version number, digest text, at time
SELECT version, digest, micros(stored_at) AS at FROM registry_versions WHERE version = :version;
