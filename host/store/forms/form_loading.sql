-- The registry's forms on their way into the database, and which registry each host runs by. Used by form_loading.cpp and
-- host_registries.cpp.

-- name: lock_forms
-- Lets one host at a time load, until its transaction ends.
-- returns: locked text
SELECT pg_advisory_xact_lock(hashtext('waybill-forms:' || current_schema())) AS locked;

-- name: stored_forms
-- Lists the stored forms with their actions in one line, in the same format as wanted_form, and their further terms.
-- returns: form_id text, name text, actions text, further text
SELECT f.form_id,
       f.name,
       coalesce(string_agg(jsonb_build_array(a.action_order, a.action_type, a.destination, coalesce(a.template_id, ''),
                                             coalesce(a.subject_template, ''), coalesce(a.happyfox_category, ''))::text,
                           ',' ORDER BY a.action_order), '') AS actions,
       f.further
FROM forms f LEFT JOIN form_actions a ON a.form_id = f.form_id GROUP BY f.form_id, f.name, f.further;

-- name: wanted_form
-- Answers a form's content in one line, in the same format as stored_forms.
-- One element each per action; `:subjects` are templates, `:categories` are those of HappyFox.
-- takes: places, types, destinations, templates, subjects, categories
-- returns: actions text
SELECT coalesce(string_agg(jsonb_build_array(t.place, t.type, t.destination, t.template, t.subject, t.category)::text,
                           ',' ORDER BY t.place), '') AS actions
FROM unnest(:places::smallint[], :types::text[], :destinations::text[], :templates::text[], :subjects::text[],
            :categories::text[])
  AS t(place, type, destination, template, subject, category);

-- name: remove_form
-- Removes a form with its actions.
-- takes: form
DELETE FROM forms WHERE form_id = :form;

-- name: store_form
-- Stores a form with its further terms and deletes its old actions.
-- takes: form, name, further
-- returns: one number
WITH gone AS (DELETE FROM form_actions WHERE form_id = :form),
form AS (INSERT INTO forms (form_id, name, further) VALUES (:form, :name, :further)
         ON CONFLICT (form_id) DO UPDATE SET name = excluded.name, further = excluded.further, loaded_at = now())
SELECT 1 AS one;

-- name: store_form_actions
-- Stores a form's actions.
-- One element each per action; `:subjects` are templates, `:categories` are those of HappyFox.
-- takes: form, places, types, destinations, templates, subjects, categories
INSERT INTO form_actions (form_id, action_order, action_type, destination, template_id, subject_template, happyfox_category)
SELECT :form, t.place, t.type, t.destination, nullif(t.template, ''), nullif(t.subject, ''), nullif(t.category, '')
FROM unnest(:places::smallint[], :types::text[], :destinations::text[], :templates::text[], :subjects::text[],
            :categories::text[])
  AS t(place, type, destination, template, subject, category);

-- name: audit_load
-- Writes the audit of a load.
-- `:added`, `:changed` and `:removed` are forms; `:details` is a JSON object: what else changed.
-- takes: trigger, actor, actor_type, added, changed, removed, details
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'admin_reload_yaml', :trigger, :actor, :actor_type,
        jsonb_build_object('added', :added::text[], 'changed', :changed::text[], 'removed', :removed::text[]) || :details::jsonb);

-- name: ask_reload
-- Notes that somebody asks hosts to read their registries again. Forgets old ones.
-- takes: asked_by, host_names
-- returns: request_id number
WITH old AS (DELETE FROM reload_requests WHERE asked_at < now() - interval '90 days')
INSERT INTO reload_requests (asked_by, hosts) VALUES (:asked_by, :host_names::text[]) RETURNING request_id;

-- name: newest_reload
-- Answers the newest such request of this host that somebody still waits for: a signal that comes later is somebody else's.
-- takes: host_name
-- returns: request_id number, asked_by text
SELECT request_id, asked_by FROM reload_requests
WHERE asked_at > now() - interval '2 minutes' AND (hosts IS NULL OR :host_name::text = ANY (hosts)) ORDER BY request_id DESC LIMIT 1;

-- name: publish_registry
-- Says which registry a host runs by. Forgets hosts that are gone.
-- `:request` is the newest that the host has answered.
-- takes: host, digest, request, verdict, remarks
WITH gone AS (
  DELETE FROM host_registries r
  WHERE r.host_id <> :host::integer AND NOT EXISTS (SELECT FROM hosts h WHERE h.host_id = r.host_id)
)
INSERT INTO host_registries AS r (host_id, digest, request_id, verdict, remarks)
VALUES (:host::integer, :digest, :request::bigint, :verdict, :remarks)
ON CONFLICT (host_id) DO UPDATE
SET digest = excluded.digest, request_id = excluded.request_id, verdict = excluded.verdict, remarks = excluded.remarks,
    judged_at = now();

-- name: registries
-- Lists the registered hosts, without their quarantines, each with what it says of its registry. Null: it has said nothing yet. Those of before version 42 never do.
-- returns: host_id number, name text, digest text?, request_id number?, verdict text?, remarks text?, can_tell flag
SELECT h.host_id, h.name, r.digest, r.request_id, r.verdict, r.remarks, coalesce(h.knows, 0) >= 42 AS can_tell
FROM hosts h LEFT JOIN host_registries r ON r.host_id = h.host_id
WHERE h.name NOT LIKE '%/quarantine' ORDER BY h.host_id;
