-- The organisations of an installation. Used by org_store.cpp and database_check.cpp.

-- name: create_org
-- Stores a new organisation. No row: there is one of that name.
-- $1 name
INSERT INTO organisations (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING org_id;

-- name: organisations
-- Reads a page of organisations in the order of their names.
-- $1 name behind which the page begins, $2 rows at most
SELECT o.org_id, o.name, micros(o.created_at), micros(o.disabled_at), o.weight,
       (SELECT count(*) FROM api_tokens t
        WHERE t.org_id = o.org_id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))
FROM organisations o WHERE o.name > $1 ORDER BY o.name LIMIT $2;

-- name: show_org
-- Reads one organisation: the columns of organisations.
-- $1 name
SELECT o.org_id, o.name, micros(o.created_at), micros(o.disabled_at), o.weight,
       (SELECT count(*) FROM api_tokens t
        WHERE t.org_id = o.org_id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))
FROM organisations o WHERE o.name = $1;

-- name: disable_org
-- Disables an organisation, or enables it. What it was already it stays, and since when. No row: there is none of that name.
-- $1 name, $2 whether it is disabled
UPDATE organisations SET disabled_at = CASE WHEN $2 THEN coalesce(disabled_at, now()) END WHERE name = $1 RETURNING org_id;

-- name: weigh_org
-- Gives an organisation a weight. No row: there is none of that name.
-- $1 name, $2 weight
UPDATE organisations SET weight = $2::integer WHERE name = $1 RETURNING org_id;

-- name: is_shared
-- Whether there are organisations beside the first.
SELECT count(*) > 1 FROM organisations;
