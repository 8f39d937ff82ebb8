// The registry's forms into the database: what is new, what has changed, what is gone.
#include "store/form_loading.h"

#include <algorithm>

#include "store/read_rows.h"

namespace waybill {
namespace {

constexpr Statement kLockForms{"lock_forms", "SELECT pg_advisory_xact_lock(hashtext('waybill-forms:' || current_schema()))"};
// A form's content in one line, the same for what is stored and for what is to be.
constexpr Statement kStored{"stored_forms", R"(
  SELECT f.form_id, f.name, coalesce(string_agg(jsonb_build_array(a.action_order, a.action_type, a.destination, coalesce(a.template_id, ''),
         coalesce(a.subject_template, ''), coalesce(a.happyfox_category, ''))::text, ',' ORDER BY a.action_order), '')
  FROM forms f LEFT JOIN form_actions a ON a.form_id = f.form_id GROUP BY f.form_id, f.name)"};
constexpr Statement kWanted{"wanted_form", R"(
  SELECT coalesce(string_agg(jsonb_build_array(t.place, t.type, t.destination, t.template, t.subject, t.category)::text, ',' ORDER BY t.place), '')
  FROM unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS t(place, type, destination, template, subject, category))"};
constexpr Statement kRemove{"remove_form", "DELETE FROM forms WHERE form_id = $1"};
constexpr Statement kStore{"store_form", R"(
  WITH gone AS (DELETE FROM form_actions WHERE form_id = $1),
  form AS (INSERT INTO forms (form_id, name) VALUES ($1, $2) ON CONFLICT (form_id) DO UPDATE SET name = excluded.name, loaded_at = now())
  SELECT 1)"};
constexpr Statement kStoreActions{"store_form_actions", R"(
  INSERT INTO form_actions (form_id, action_order, action_type, destination, template_id, subject_template, happyfox_category)
  SELECT $1, t.place, t.type, t.destination, nullif(t.template, ''), nullif(t.subject, ''), nullif(t.category, '')
  FROM unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS t(place, type, destination, template, subject, category))"};
constexpr Statement kAuditLoad{"audit_load", R"(
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type, metadata)
  VALUES (0, 0, now(), 1, 'admin_reload_yaml', $1, $2, $3,
          jsonb_build_object('added', $4::text[], 'changed', $5::text[], 'removed', $6::text[])))"};

Parameters actions_of(const Form& form) {
  ArrayText order, type, destination, template_id, subject, category;
  for (const auto& action : form.actions) {
    order.add(static_cast<std::int64_t>(action.order));
    type.add(action.action_type);
    destination.add(action.destination);
    template_id.add(action.template_id);
    subject.add(action.subject_template);
    category.add(action.happyfox_category);
  }
  return {order.take(), type.take(), destination.take(), template_id.take(), subject.take(), category.take()};
}

Result<void> store_form(Connection& connection, const Form& form, Parameters actions) {
  if (auto stored = connection.run(kStore, {form.id, form.name}); !stored) return tl::unexpected(stored.error());
  actions.insert(actions.begin(), form.id);
  if (auto stored = connection.run(kStoreActions, actions); !stored) return tl::unexpected(stored.error());
  return {};
}

std::string list(const std::vector<std::string>& names) {
  ArrayText array;
  for (const auto& name : names) array.add(name);
  return array.take();
}

}  // namespace

Result<LoadedForms> load_forms(Connection& connection, std::span<const Form> forms, const LoadActor& actor) {
  if (auto locked = connection.run(kLockForms); !locked) return tl::unexpected(locked.error());
  auto stored = connection.run(kStored);
  if (!stored) return tl::unexpected(stored.error());
  LoadedForms loaded;
  for (const auto& form : forms) {
    const Parameters actions = actions_of(form);
    auto wanted = connection.run(kWanted, actions);
    if (!wanted) return tl::unexpected(wanted.error());
    bool is_new = true, same = false;
    for (std::size_t row = 0; row < stored->size(); ++row) {
      if (stored->text(row, 0) != form.id) continue;
      is_new = false;
      same = stored->text(row, 1) == form.name && stored->text(row, 2) == wanted->text(0, 0);
    }
    if (same) continue;
    (is_new ? loaded.added : loaded.changed).push_back(form.id);
    if (auto written = store_form(connection, form, actions); !written) return tl::unexpected(written.error());
  }
  for (std::size_t row = 0; row < stored->size(); ++row) {
    const auto id = text_of(*stored, row, 0);
    if (std::any_of(forms.begin(), forms.end(), [&](const Form& form) { return form.id == id; })) continue;
    if (auto removed = connection.run(kRemove, {id}); !removed) return tl::unexpected(removed.error());
    loaded.removed.push_back(id);
  }
  if (!loaded.any() && actor.trigger == "start") return loaded;
  auto noted = connection.run(
      kAuditLoad, {actor.trigger, actor.name, actor.type, list(loaded.added), list(loaded.changed), list(loaded.removed)});
  if (!noted) return tl::unexpected(noted.error());
  return loaded;
}

}  // namespace waybill
