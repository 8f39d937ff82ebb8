// A web form as its file describes it: which actions a submission of it runs, in which order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "domain/action_types.h"
#include "domain/contract.h"
#include "domain/fields_schema.h"

namespace waybill {

// Recipients by the text of one of the submission's fields: a department, and its address.
struct RecipientLookup {
  std::string field;
  std::map<std::string, std::string> addresses;  // by the field's text
  std::string otherwise;                         // for any other text; "": there must be no other

  bool operator==(const RecipientLookup&) const = default;
};

struct FormAction {
  int order = 0;            // 1 and up, unique in its form
  std::string action_type;  // selects the sender plugin
  std::string destination;  // for the plugin: recipients, a queue, ...; or one of the next two instead
  std::string template_id;  // the rest may be empty
  std::string subject_template;
  std::string happyfox_category;
  std::string destination_field{};  // the submission's field whose text is the one recipient
  std::optional<RecipientLookup> lookup{};
  std::string from{};  // of mail: instead of the sender's; likewise the rest
  std::string reply_to{};
  std::string reply_to_field{};  // the submission's field with the address for answers, if it has one
  std::string cc{};
  std::string bcc{};
  std::optional<bool>
      attachment_links{};           // whether attachments are told, with links; none: as its plugin does without being told
  std::optional<Millis> timeout{};  // of an attempt; none: that of the configuration

  bool operator==(const FormAction&) const = default;
};

struct Form {
  std::string id;
  std::string name;
  std::vector<FormAction> actions;  // in their order
  bool takes_attachments = true;
  FieldsSchema fields_schema{};

  bool operator==(const Form&) const = default;
};

// A submission's payload: what plugins get of it. `fields` and `attachments` are JSON as handed in.
std::string form_payload(std::string_view fields, std::string_view attachments, Timestamp kept_until);
// The same payload with other fields (JSON). Error::bug when it is none.
Result<std::string> with_fields(std::string_view payload, std::string_view fields);
Result<std::string> fields_of(std::string_view payload);

// The text `destination` in what an action's plugin is handed ("" where fields say who gets it), and the same with another one,
// whatever fields say: a mail that had no links to attachments since a field named its recipient still has none. Error::bug when
// it is none.
Result<std::string> destination_of(std::string_view json);
Result<std::string> with_destination(std::string_view json, std::string_view destination);

inline constexpr std::uint32_t kFormAttempts = 5;  // of each action, then it is a dead letter

// What the plugin is handed as the destination of this action: a JSON object of those fields that are set, sorted by name.
std::string destination_json(const FormAction& action);

// What a form says beside its name and what its actions had from the beginning (recipients as text, template, subject, category),
// as JSON; "" if that is nothing.
std::string further_terms(const Form& form);

// Why a submission with these fields (a JSON object) and so many attachments cannot be one of this form: a sentence that begins
// with the field. "" if it can.
std::string fault_in_submission(const Form& form, std::string_view fields, std::size_t attachments);

// The contract of an action: kFormAttempts attempts; every reason that its plugin calls permanent ends it. `type` is null while
// no plugin has the action type: then no rejection is final.
Contract contract_of(const Form& form, const FormAction& action, const ActionType* type);

}  // namespace waybill
