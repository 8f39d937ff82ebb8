// What is stored of a form's submission, and when the claimer is woken.
#include "intake/form_intake.h"

namespace waybill {

Sha256 content_hash(const NewForm& form) {
  std::string all = form.form_id;
  all.append(1, '\0').append(form.fields).append(1, '\0').append(form.attachments_json).append(1, '\0');
  if (form.kept_until) all += std::to_string(form.kept_until->micros);
  return sha256(all);
}

Result<SubmitResult> FormIntake::submit(FormStore& store, const NewForm& form) const {
  NewFormSubmission submission{.org = form.org,
                               .client_ref = form.submission_id,
                               .form_id = form.form_id,
                               .fields = form.fields,
                               .attachments_json = form.attachments_json,
                               .attachments = form.attachments,
                               .kept_until = form.kept_until,
                               .hash = content_hash(form),
                               .actions = {},
                               .contracts = {},
                               .finalize = form.finalize,
                               .trace = form.trace,
                               .terms = form.terms};
  std::vector<Contract> contracts;
  if (form.form) {
    for (const auto& action : form.form->actions)
      contracts.push_back(contract_of(*form.form, action, types_.find(action.action_type)));
    submission.actions = form.form->actions;
    submission.contracts = contracts;
    submission.fault = fault_in_submission(*form.form, form.fields, form.attachments.size());
  } else {  // a submission that came in before is still itself
    const auto known = store.find(form.org, form.submission_id);
    TRY(known);
    if (!*known || (*known)->submission.target != form.form_id)
      return fail(Error::Kind::invalid, "unknown formId \"" + form.form_id + "\"");
  }
  auto stored = store.submit(submission);
  if (health_ != nullptr) health_->note(stored);
  if (stored && stored->how != SubmitResult::How::conflict) is_due_();
  return stored;
}

Result<std::optional<FormState>> FormIntake::finalize(FormStore& store, OrgId org, const std::string& submission_id) const {
  return moved(store.finalize(org, submission_id));
}

Result<std::optional<FormState>> FormIntake::scan(FormStore& store, OrgId org, const std::string& attachment, Scan result,
                                                  const std::string& actor) const {
  return moved(store.scan(org, attachment, result, actor));
}

Result<std::optional<FormState>> FormIntake::moved(Result<std::optional<FormState>> state) const {
  if (health_ != nullptr) health_->note(state);
  if (state && *state) is_due_();
  return state;
}

}  // namespace waybill
