// Acting on one dead letter.
#include "dead_letters/dead_letter_service.h"

#include "domain/form.h"

namespace waybill {
namespace {

Result<DeadLetterView> letter_of(DeadStore& store, const ServiceCall& call) {
  auto view = store.show(call.org, call.id);
  TRY(view);
  if (!*view) return fail(Error::Kind::not_found, no_such_letter(call.id));
  return std::move(**view);
}

Result<void> check_destination(const ActionTypes& types, const DeadLetterView& view, const std::string& text) {
  const auto json = with_destination(view.destination, text);
  TRY(json);
  const auto problems = types.check_destination(view.letter.action_type, *json);
  if (problems.empty()) return {};
  const auto& first = problems.front();
  return fail(Error::Kind::invalid, (first.field.empty() ? "destination" : first.field) + ": " + first.message);
}

}  // namespace

Result<void> edit_letter(DeadStore& store, const ActionTypes& types, const ServiceCall& call, const DeadLetterEdit& edit) {
  const auto view = letter_of(store, call);
  TRY(view);
  if (edit.destination && view->letter.kind == "form") TRY(check_destination(types, *view, *edit.destination));
  return store.edit(call.org, call.id, edit, call.actor);
}

Result<CloneResult> clone_letter(DeadStore& store, const Registry& registry, const ActionTypes& types, const ServiceCall& call,
                                 const std::string& reference) {
  const auto view = letter_of(store, call);
  TRY(view);
  const DeadLetter& letter = view->letter;
  if (letter.kind == "pipeline") return fail(Error::Kind::conflict, "a submission of a pipeline cannot be cloned");
  std::vector<CloneAction> actions;
  if (const Form* form = letter.kind == "form" ? registry.find_form(letter.target) : nullptr) {
    for (const auto& action : form->actions)
      actions.push_back({action.order, contract_of(*form, action, types.find(action.action_type))});
  } else if (const Contract* target = letter.kind == "intent" ? registry.find(letter.target) : nullptr) {
    actions.push_back({1, *target});
  } else {
    return fail(Error::Kind::conflict, "the registry has no " + letter.kind + (letter.kind == "form" ? "" : "'s target") + " \"" +
                                           letter.target + "\" any more");
  }
  return store.clone(call.org, call.id, reference, actions, call.actor);
}

}  // namespace waybill
