-- The registry's forms on their way into the database, and which registry each host runs by. Used by form_loading.cpp and
-- host_registries.cpp.

-- name: lock_forms
-- Lets one host at a time load, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtext('waybill-forms:' || current_schema()));

-- name: stored_forms
-- Lists the stored forms with their actions in one line, in the same format as wanted_form, and their further terms.
SELECT f.form_id, f.name, coalesce(string_agg(jsonb_build_array(a.action_order, a.action_type, a.destination,
       coalesce(a.template_id, ''), coalesce(a.subject_template, ''), coalesce(a.happyfox_category, ''))::text, ',' ORDER BY a.action_order), ''),
       f.further
FROM forms f LEFT JOIN form_actions a ON a.form_id = f.form_id GROUP BY f.form_id, f.name, f.further;

-- name: wanted_form
-- Answers a form's content in one line, in the same format as stored_forms.
-- Per action: $1 place, $2 type, $3 destination, $4 template, $5 subject, $6 HappyFox category
SELECT coalesce(string_agg(jsonb_build_array(t.place, t.type, t.destination, t.template, t.subject, t.category)::text,
                           ',' ORDER BY t.place), '')
FROM unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
  AS t(place, type, destination, template, subject, category);

-- name: remove_form
-- Removes a form with its actions.
-- $1 form
DELETE FROM forms WHERE form_id = $1;

-- name: store_form
-- Stores a form and deletes its old actions.
-- $1 form, $2 name, $3 its further terms
WITH gone AS (DELETE FROM form_actions WHERE form_id = $1),
form AS (INSERT INTO forms (form_id, name, further) VALUES ($1, $2, $3)
         ON CONFLICT (form_id) DO UPDATE SET name = excluded.name, further = excluded.further, loaded_at = now())
SELECT 1;

-- name: store_form_actions
-- Stores a form's actions.
-- $1 form; per action: $2 place, $3 type, $4 destination, $5 template, $6 subject, $7 HappyFox category
INSERT INTO form_actions (form_id, action_order, action_type, destination, template_id, subject_template, happyfox_category)
SELECT $1, t.place, t.type, t.destination, nullif(t.template, ''), nullif(t.subject, ''), nullif(t.category, '')
FROM unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
  AS t(place, type, destination, template, subject, category);

-- name: audit_load
-- Writes the audit of a load.
-- $1 trigger, $2 actor, $3 the actor's type, $4 forms added, $5 changed, $6 removed, $7 what else changed: a JSON object
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'admin_reload_yaml', $1, $2, $3,
        jsonb_build_object('added', $4::text[], 'changed', $5::text[], 'removed', $6::text[]) || $7::jsonb);

-- name: ask_reload
-- Notes that somebody asks hosts to read their registries again. Forgets old ones.
-- $1 who, $2 the hosts' names
WITH old AS (DELETE FROM reload_requests WHERE asked_at < now() - interval '90 days')
INSERT INTO reload_requests (asked_by, hosts) VALUES ($1, $2::text[]) RETURNING request_id;

-- name: newest_reload
-- Answers the newest such request of this host that somebody still waits for: a signal that comes later is somebody else's.
-- $1 the host's name
SELECT request_id, asked_by FROM reload_requests
WHERE asked_at > now() - interval '2 minutes' AND (hosts IS NULL OR $1::text = ANY (hosts)) ORDER BY request_id DESC LIMIT 1;

-- name: publish_registry
-- Says which registry a host runs by. Forgets hosts that are gone.
-- $1 host, $2 digest, $3 the newest request that it has answered, $4 verdict, $5 remarks
WITH gone AS (
  DELETE FROM host_registries r WHERE r.host_id <> $1::integer AND NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = r.host_id)
)
INSERT INTO host_registries AS r (host_id, digest, request_id, verdict, remarks) VALUES ($1::integer, $2, $3::bigint, $4, $5)
ON CONFLICT (host_id) DO UPDATE
SET digest = excluded.digest, request_id = excluded.request_id, verdict = excluded.verdict, remarks = excluded.remarks,
    judged_at = now();

-- name: registries
-- Lists the registered hosts, each with what it says of its registry. Null: it has said nothing yet. Those of before version 42 never do.
SELECT h.host_id, h.name, r.digest, r.request_id, r.verdict, r.remarks, coalesce(h.knows, 0) >= 42
FROM hosts h LEFT JOIN host_registries r ON r.host_id = h.host_id ORDER BY h.host_id;
