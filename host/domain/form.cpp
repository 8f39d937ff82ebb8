// From a form's action to what the engine runs.
#include "domain/form.h"

#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {
namespace {

// What is stored was checked when it came; submissions of older versions may have names twice.
constexpr JsonReading kStored{.doubled_names = JsonReading::DoubledNames::kept};

std::optional<Json> stored_object(std::string_view text) {
  auto whole = read_json(text, kStored);
  return whole && whole->is_object() ? std::optional(std::move(*whole)) : std::nullopt;
}

}  // namespace

std::string destination_json(const FormAction& action) {
  nlohmann::json destination{{"destination", action.destination}};
  if (!action.template_id.empty()) destination["template_id"] = action.template_id;
  if (!action.subject_template.empty()) destination["subject_template"] = action.subject_template;
  if (!action.happyfox_category.empty()) destination["happyfox_category"] = action.happyfox_category;
  return dump_sorted(destination);
}

std::string form_payload(std::string_view fields, std::string_view attachments, Timestamp kept_until) {
  return "{\"fields\":" + std::string(fields) + ",\"attachments\":" + std::string(attachments) + ",\"retentionExpiresAt\":\"" +
         format_rfc3339(kept_until) + "\"}";
}

Result<std::string> with_fields(std::string_view payload, std::string_view fields) {
  auto whole = stored_object(payload);
  auto fresh = read_json(fields, kStored);
  if (!whole || !fresh) return fail(Error::Kind::bug, "a stored payload cannot be read");
  (*whole)["fields"] = std::move(*fresh);
  return dump(*whole);
}

Result<std::string> fields_of(std::string_view payload) {
  const auto json = stored_object(payload);
  if (!json || !json->contains("fields")) return fail(Error::Kind::bug, "a stored payload cannot be read");
  return dump((*json)["fields"]);
}

Result<std::string> destination_of(std::string_view json) {
  const auto destination = stored_object(json);
  if (!destination) return fail(Error::Kind::bug, "a stored destination cannot be read");
  const auto found = destination->find("destination");
  if (found == destination->end() || !found->is_string()) return fail(Error::Kind::bug, "a stored destination has no text");
  return found->get<std::string>();
}

Result<std::string> with_destination(std::string_view json, std::string_view destination) {
  auto fresh = read_sorted_json(json);
  if (!fresh || !fresh->is_object()) return fail(Error::Kind::bug, "a stored destination cannot be read");
  (*fresh)["destination"] = destination;
  return dump_sorted(*fresh);
}

Contract contract_of(const Form& form, const FormAction& action, const ActionType* type) {
  Contract contract{.target = form.id + "/" + std::to_string(action.order),
                    .action_type = action.action_type,
                    .url = {},
                    .destination = destination_json(action),
                    .policy = Policy::max_attempts,
                    .max_attempts = kFormAttempts,
                    .form_id = form.id,
                    .form_name = form.name};
  if (type == nullptr) return contract;
  for (const auto& reason : type->reasons) {
    if (reason.permanent) contract.terminal_outcomes.push_back(reason.name);
    if (reason.duplicate) contract.duplicate_reasons.push_back(reason.name);
  }
  return contract;
}

}  // namespace waybill
