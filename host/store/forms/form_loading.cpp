// Stores the registry's forms: adds new ones, replaces changed ones, removes the others.
#include "store/forms/form_loading.h"

#include <algorithm>

#include "store/forms/form_loading.sql.h"

namespace waybill {
namespace {

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
  TRY(connection.run(sql::store_form, {form.id, form.name, further_terms(form)}));
  actions.insert(actions.begin(), form.id);
  TRY(connection.run(sql::store_form_actions, actions));
  return {};
}

std::string list(const std::vector<std::string>& names) {
  ArrayText array;
  for (const auto& name : names) array.add(name);
  return array.take();
}

}  // namespace

Result<FormChanges> load_forms(Connection& connection, std::span<const Form> forms, const LoadActor& actor) {
  TRY(connection.run(sql::lock_forms));
  auto stored = connection.run(sql::stored_forms);
  TRY(stored);
  FormChanges loaded;
  for (const auto& form : forms) {
    const Parameters actions = actions_of(form);
    auto wanted = connection.run(sql::wanted_form, actions);
    TRY(wanted);
    bool is_new = true, same = false;
    for (const auto row : *stored) {
      if (row.form_id() != form.id) continue;
      is_new = false;
      same = row.name() == form.name && row.actions() == wanted->front().actions() && row.further() == further_terms(form);
    }
    if (same) continue;
    (is_new ? loaded.added : loaded.changed).push_back(form.id);
    TRY(store_form(connection, form, actions));
  }
  for (const auto row : *stored) {
    const std::string id(row.form_id());
    if (std::any_of(forms.begin(), forms.end(), [&](const Form& form) { return form.id == id; })) continue;
    TRY(connection.run(sql::remove_form, {id}));
    loaded.removed.push_back(id);
  }
  if (!loaded.any() && actor.trigger == "start") return loaded;
  TRY(connection.run(sql::audit_load, {actor.trigger, actor.name, actor.type, list(loaded.added), list(loaded.changed),
                                       list(loaded.removed), actor.details}));
  return loaded;
}

}  // namespace waybill
