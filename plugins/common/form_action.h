// What a form's action says of where and what to send: the destination of the plugins that write about forms.
#pragma once

#include <map>

#include "common/settings_reader.h"
#include "common/surrogates.h"
#include "common/text.h"

namespace waybill::plugins {

// Recipients by the text of a field.
struct RecipientLookup {
  std::string field;
  std::map<std::string, std::string> addresses;
  std::string otherwise;  // for any other text; empty: none
};

struct FormAction {
  std::string destination;
  std::string template_id;
  std::string subject_template;
  std::string category;
  std::string destination_field;  // of mail: the field with its recipient, instead of `destination`
  std::optional<RecipientLookup> lookup;
  std::string from;
  std::string reply_to;
  std::string reply_to_field;
  std::string cc;
  std::string bcc;
  std::optional<bool> attachment_links;

  // Who entered an address is not known to own it: a mail to it has no links to attachments, unless the form says so.
  bool has_links() const { return attachment_links.value_or(destination_field.empty()); }
  bool asks_fields() const { return !destination_field.empty() || !reply_to_field.empty() || lookup; }
};

// None if it is malformed: then `wrong` was called.
inline std::optional<RecipientLookup> read_lookup(const Json& json, const Wrong& wrong) {
  const auto refused = [&] {
    return wrong("/destination_lookup",
                 "destination_lookup must have a field, addresses and perhaps a default, all of them text"),
           std::nullopt;
  };
  if (!json.is_object()) return refused();
  RecipientLookup out;
  for (const auto& [name, text] : {std::pair{"field", &out.field}, std::pair{"default", &out.otherwise}}) {
    const auto* value = field(json, name);
    if (value && !value->is_string()) return refused();
    if (value) *text = value->get<std::string>();
  }
  const auto* addresses = field(json, "addresses");
  if (!addresses || !addresses->is_object()) return refused();
  for (const auto& [value, address] : addresses->items()) {
    if (!address.is_string()) return refused();
    out.addresses[value] = address.get<std::string>();
  }
  return out;
}

// None if it is malformed: then `wrong` was called.
inline std::optional<FormAction> read_form_action(std::string_view bytes, const Wrong& wrong) {
  std::string problem;
  const auto json = parse_object(without_lone_surrogates(bytes), problem);
  if (!json) return wrong("", "the destination " + problem), std::nullopt;
  FormAction out;
  const std::pair<const char*, std::string&> texts[] = {{"destination", out.destination},
                                                        {"template_id", out.template_id},
                                                        {"subject_template", out.subject_template},
                                                        {"happyfox_category", out.category},
                                                        {"destination_field", out.destination_field},
                                                        {"from", out.from},
                                                        {"reply_to", out.reply_to},
                                                        {"reply_to_field", out.reply_to_field},
                                                        {"cc", out.cc},
                                                        {"bcc", out.bcc}};
  for (const auto& [name, text] : texts) {
    const auto* value = field(*json, name);
    if (value && !value->is_string()) return wrong('/' + std::string(name), std::string(name) + " must be text"), std::nullopt;
    if (value) text = value->get<std::string>();
  }
  if (const auto* links = field(*json, "attachment_links")) {
    if (!links->is_boolean()) return wrong("/attachment_links", "attachment_links must be true or false"), std::nullopt;
    out.attachment_links = links->get<bool>();
  }
  if (const auto* lookup = field(*json, "destination_lookup")) {
    out.lookup = read_lookup(*lookup, wrong);
    if (!out.lookup) return std::nullopt;
  }
  return out;
}

}  // namespace waybill::plugins
