-- Erasing an organisation, as the tables' owner. Used by erasure_store.cpp.

-- name: org_to_erase
-- Reads an organisation, the time, and for how many seconds it has been disabled.
-- takes: name
-- returns: org_id number, created time, disabled time?, disabled_for number, now time
SELECT org_id,
       micros(created_at) AS created,
       micros(disabled_at) AS disabled,
       coalesce(extract(epoch FROM clock_timestamp() - disabled_at)::bigint, 0) AS disabled_for,
       micros(clock_timestamp()) AS now
FROM organisations WHERE name = :name;

-- name: begin_erasure
-- The line in the audit of an erasure that begins, once.
-- takes: org, name, actor
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
SELECT 0, 0, now(), 1, 'organisation_erasure_begun', 'erase', :actor, 'admin',
       jsonb_build_object('organisation', :name::text, 'orgId', :org::integer)
WHERE NOT EXISTS (SELECT FROM audit_log WHERE shard = 0 AND submission_id = 0 AND action = 'organisation_erasure_begun'
                                          AND metadata ->> 'orgId' = :org::integer::text);

-- name: erasable_tables
-- Lists every table that has organisations' rows, or its partitions, with their pages: the queue first, then whatever refers to others before those.
-- returns: table_name text, leaf number, pages number
{{tables_of_orgs}}
SELECT o.relname AS table_name,
       leaf.oid::bigint AS leaf,
       pg_relation_size(leaf.oid::regclass) / current_setting('block_size')::integer AS pages
FROM of_orgs o
CROSS JOIN LATERAL (
  SELECT relid::oid AS oid FROM pg_partition_tree(o.oid::regclass) WHERE isleaf
  UNION SELECT o.oid WHERE EXISTS (SELECT FROM pg_class p WHERE p.oid = o.oid AND p.relkind = 'r')) leaf
ORDER BY o.relname <> 'ready', (SELECT max(depth) FROM depths d WHERE d.oid = o.oid), o.relname, leaf.oid;

-- name: erase_rows
-- Erases an organisation's rows in some pages of a leaf.
-- takes: org, leaf, name, first_page, pages
-- returns: erased number
SELECT erase_rows(:org::integer, :leaf::bigint::oid::regclass, :name::text, :first_page::bigint, :pages::integer) AS erased;

-- name: erase_token_uses
-- Erases when an organisation's tokens were last used, and uses of tokens that are gone: their table does not name it.
-- takes: org
-- returns: erased number
WITH gone AS (
  DELETE FROM token_uses u
  WHERE (u.token_id IN (SELECT token_id FROM api_tokens WHERE org_id = :org) OR u.token_id NOT IN (SELECT token_id FROM api_tokens))
    AND EXISTS (SELECT FROM organisations WHERE org_id = :org AND disabled_at IS NOT NULL)
  RETURNING u.token_id, u.used_at),
noted AS (
  INSERT INTO erasures AS e (erased_org, table_name, rows, oldest, newest, digest)
  SELECT :org, 'token_uses', count(*), min(used_at), max(used_at),
         encode(sha256(convert_to(string_agg(token_id::text, E'\n' ORDER BY token_id), 'UTF8')), 'hex')
  FROM gone HAVING count(*) > 0
  ON CONFLICT (erased_org, table_name) DO UPDATE SET
    rows = e.rows + excluded.rows, oldest = least(e.oldest, excluded.oldest), newest = greatest(e.newest, excluded.newest),
    digest = encode(sha256(convert_to(e.digest || excluded.digest, 'UTF8')), 'hex'))
SELECT count(*) AS erased FROM gone;

-- name: erased_tables
-- Reads what was erased of an organisation.
-- takes: org
-- returns: table_name text, rows number, oldest time?, newest time?, digest text, begun time
SELECT table_name, rows, micros(oldest) AS oldest, micros(newest) AS newest, digest, micros(begun_at) AS begun
FROM erasures WHERE erased_org = :org ORDER BY table_name;

-- name: end_erasure
-- Deletes the organisation itself, and keeps the certificate in the audit. No row: it is gone.
-- takes: org, actor, certificate
-- returns: org_id number
WITH gone AS (DELETE FROM organisations WHERE org_id = :org AND disabled_at IS NOT NULL RETURNING org_id),
audit AS (
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  SELECT 0, 0, now(), 1, 'organisation_erased', 'erase', :actor, 'admin', :certificate::jsonb FROM gone)
SELECT org_id FROM gone;

-- name: kept_certificate
-- Reads the newest certificate of an organisation of this name.
-- takes: name
-- returns: certificate text
SELECT metadata::text AS certificate FROM audit_log
WHERE shard = 0 AND submission_id = 0 AND action = 'organisation_erased' AND metadata #>> '{organisation,name}' = :name
ORDER BY created_at DESC, id DESC LIMIT 1;
