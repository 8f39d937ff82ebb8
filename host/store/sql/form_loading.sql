-- The registry's forms on their way into the database. Used by form_loading.cpp.

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
-- $1 trigger, $2 actor, $3 the actor's type, $4 forms added, $5 changed, $6 removed
INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
VALUES (0, 0, now(), 1, 'admin_reload_yaml', $1, $2, $3,
        jsonb_build_object('added', $4::text[], 'changed', $5::text[], 'removed', $6::text[]));
