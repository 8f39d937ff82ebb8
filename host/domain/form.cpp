// From a form's action to what the engine runs.
#include "domain/form.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/json_document.h"
#include "base/json_reader.h"
#include "base/names.h"
#include "domain/mail_address.h"

namespace waybill {
namespace {

// What is stored was checked when it came; submissions of older versions may have names twice.
constexpr JsonReading kStored{.doubled_names = JsonReading::DoubledNames::kept};

std::optional<Json> stored_object(std::string_view text) {
  auto whole = read_json(text, kStored);
  return whole && whole->is_object() ? std::optional(std::move(*whole)) : std::nullopt;
}

// What an action says of its mail beside the recipients as text.
nlohmann::json mail_terms(const FormAction& action) {
  nlohmann::json terms = nlohmann::json::object();
  const std::pair<const char*, const std::string*> texts[] = {
      {"destination_field", &action.destination_field}, {"from", &action.from}, {"reply_to", &action.reply_to},
      {"reply_to_field", &action.reply_to_field},       {"cc", &action.cc},     {"bcc", &action.bcc}};
  for (const auto& [name, text] : texts)
    if (!text->empty()) terms[name] = *text;
  if (action.attachment_links) terms["attachment_links"] = *action.attachment_links;
  if (!action.lookup) return terms;
  auto& lookup = terms["destination_lookup"] = {{"field", action.lookup->field}, {"addresses", action.lookup->addresses}};
  if (!action.lookup->otherwise.empty()) lookup["default"] = action.lookup->otherwise;
  return terms;
}

std::string text_in(const Json& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What a field must be for an action's mail, since nobody could correct it later.
std::string fault_in_addresses(const FormAction& action, const Json& fields) {
  const auto fault_in_field = [&](const std::string& name) {
    const auto fault = fault_in_address(text_in(fields, name));
    return fault.empty() ? fault : "fields." + name + " must be one plain address, such as ann@example.org: " + fault;
  };
  if (!action.destination_field.empty())
    if (auto fault = fault_in_field(action.destination_field); !fault.empty()) return fault;
  // No address for answers is fine; one that is none is not.
  const auto answers = fields.find(action.reply_to_field);
  const bool has_answers = answers != fields.end() && !answers->is_null() && *answers != "";
  if (!action.reply_to_field.empty() && has_answers)
    if (auto fault = fault_in_field(action.reply_to_field); !fault.empty()) return fault;
  if (!action.lookup || !action.lookup->otherwise.empty()) return {};
  if (action.lookup->addresses.contains(text_in(fields, action.lookup->field))) return {};
  std::vector<std::string> known;
  for (const auto& [value, unused] : action.lookup->addresses) known.push_back(in_quotes(value));
  return "fields." + action.lookup->field + " must be one of " + list_of(known);
}

}  // namespace

std::string destination_json(const FormAction& action) {
  auto destination = mail_terms(action);
  const std::pair<const char*, const std::string*> texts[] = {{"destination", &action.destination},
                                                              {"template_id", &action.template_id},
                                                              {"subject_template", &action.subject_template},
                                                              {"happyfox_category", &action.happyfox_category}};
  for (const auto& [name, text] : texts)
    if (!text->empty()) destination[name] = *text;
  return dump_sorted(destination);
}

std::string further_terms(const Form& form) {
  nlohmann::json terms = nlohmann::json::object();
  if (!form.takes_attachments) terms["attachments"] = false;
  if (!form.fields_schema.text().empty()) terms["fields_schema"] = form.fields_schema.text();
  for (const auto& action : form.actions)
    if (auto own = mail_terms(action); !own.empty() || action.timeout) {
      if (action.timeout) own["timeout"] = format_duration(*action.timeout);
      terms["actions"][std::to_string(action.order)] = std::move(own);
    }
  return terms.empty() ? "" : dump_sorted(terms);
}

std::string fault_in_submission(const Form& form, std::string_view fields, std::size_t attachments) {
  if (!form.takes_attachments && attachments > 0) return "attachments: form " + in_quotes(form.id) + " takes none";
  if (auto fault = form.fields_schema.fault_in(fields); !fault.empty()) return fault;
  const auto asks_fields = [](const FormAction& action) {
    return !action.destination_field.empty() || !action.reply_to_field.empty() || action.lookup;
  };
  if (std::none_of(form.actions.begin(), form.actions.end(), asks_fields)) return {};
  const auto read = stored_object(fields);
  if (!read) return "fields must be an object";
  for (const auto& action : form.actions)
    if (auto fault = fault_in_addresses(action, *read); !fault.empty()) return fault;
  return {};
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
  if (found == destination->end()) return std::string();
  if (!found->is_string()) return fail(Error::Kind::bug, "a stored destination has no text");
  return found->get<std::string>();
}

Result<std::string> with_destination(std::string_view json, std::string_view destination) {
  auto fresh = read_sorted_json(json);
  if (!fresh || !fresh->is_object()) return fail(Error::Kind::bug, "a stored destination cannot be read");
  if (fresh->erase("destination_field") > 0 && !fresh->contains("attachment_links")) (*fresh)["attachment_links"] = false;
  fresh->erase("destination_lookup");
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
