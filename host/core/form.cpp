// From a form's action to what the engine runs.
#include "core/form.h"

#include <nlohmann/json.hpp>

namespace waybill {

std::string destination_json(const FormAction& action) {
  nlohmann::json destination{{"destination", action.destination}};
  if (!action.template_id.empty()) destination["template_id"] = action.template_id;
  if (!action.subject_template.empty()) destination["subject_template"] = action.subject_template;
  if (!action.happyfox_category.empty()) destination["happyfox_category"] = action.happyfox_category;
  return destination.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Contract contract_of(const Form& form, const FormAction& action, const ActionType* type) {
  Contract contract{.target = form.id + "/" + std::to_string(action.order),
                    .action_type = action.action_type,
                    .url = {},
                    .destination = destination_json(action),
                    .policy = Policy::max_attempts,
                    .max_attempts = kFormAttempts};
  if (type == nullptr) return contract;
  for (const auto& reason : type->reasons) {
    if (reason.permanent) contract.terminal_outcomes.push_back(reason.name);
    if (reason.duplicate) contract.duplicate_reasons.push_back(reason.name);
  }
  return contract;
}

}  // namespace waybill
