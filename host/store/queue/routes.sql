-- A route is a contract of an organisation, stored once per content. Used by routes.cpp.

-- name: find_route
-- Finds a contract's route by the SHA-256 of its JSON.
-- takes: org, hash
-- returns: route_id number
SELECT route_id FROM contract_snapshots WHERE org_id = :org AND hash = :hash;

-- name: make_route
-- Stores a contract as a new route, unless another session did so. :hash is the SHA-256 of its JSON.
-- takes: org, hash, contract
INSERT INTO contract_snapshots (org_id, hash, contract) VALUES (:org, :hash, :contract) ON CONFLICT DO NOTHING;
