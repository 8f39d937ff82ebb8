-- A route is a contract of an organisation, stored once per content. Used by routes.cpp.

-- name: find_route
-- Finds a contract's route.
-- $1 organisation, $2 SHA-256 of the contract's JSON
SELECT route_id FROM contract_snapshots WHERE org_id = $1 AND hash = $2;

-- name: make_route
-- Stores a contract as a new route, unless another session did so.
-- $1 organisation, $2 SHA-256 of the contract's JSON, $3 that JSON
INSERT INTO contract_snapshots (org_id, hash, contract) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
