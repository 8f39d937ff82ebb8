-- The organisations of an installation. Used by org_store.cpp and database_check.cpp.

-- name: create_org
-- Stores a new organisation. No row: there is one of that name.
-- takes: name
-- returns: org_id number
INSERT INTO organisations (name) VALUES (:name) ON CONFLICT DO NOTHING RETURNING org_id;

-- name: organisations
-- Reads a page of organisations in the order of their names.
-- The page begins behind the name `:after`.
-- takes: after, most
-- returns: org_id number, name text, created time, disabled time?, weight number, tokens number
SELECT o.org_id,
       o.name,
       micros(o.created_at) AS created,
       micros(o.disabled_at) AS disabled,
       o.weight,
       (SELECT count(*) FROM api_tokens t
        WHERE t.org_id = o.org_id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())) AS tokens
FROM organisations o WHERE o.name > :after ORDER BY o.name LIMIT :most;

-- name: show_org
-- Reads one organisation: the columns of organisations.
-- takes: name
-- returns: org_id number, name text, created time, disabled time?, weight number, tokens number
SELECT o.org_id,
       o.name,
       micros(o.created_at) AS created,
       micros(o.disabled_at) AS disabled,
       o.weight,
       (SELECT count(*) FROM api_tokens t
        WHERE t.org_id = o.org_id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())) AS tokens
FROM organisations o WHERE o.name = :name;

-- name: disable_org
-- Disables an organisation, or enables it. What it was already it stays, and since when. No row: there is none of that name.
-- takes: name, is_disabled
-- returns: org_id number
UPDATE organisations SET disabled_at = CASE WHEN :is_disabled THEN coalesce(disabled_at, now()) END
WHERE name = :name RETURNING org_id;

-- name: is_being_erased
-- Whether an erasure of an organisation has begun.
-- takes: name
-- returns: is_being_erased flag
SELECT EXISTS (SELECT FROM organisations o JOIN erasures e ON e.erased_org = o.org_id WHERE o.name = :name) AS is_being_erased;

-- name: weigh_org
-- Gives an organisation a weight. No row: there is none of that name.
-- takes: name, weight
-- returns: org_id number
UPDATE organisations SET weight = :weight::integer WHERE name = :name RETURNING org_id;

-- name: is_shared
-- Whether there are organisations beside the first.
-- returns: is_shared flag
SELECT count(*) > 1 AS is_shared FROM organisations;
