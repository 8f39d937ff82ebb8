// What a form's action says of where and what to send: the destination of the plugins that write about forms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/settings_reader.h"

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
std::optional<FormAction> read_form_action(std::string_view bytes, const Wrong& wrong);

}  // namespace waybill::plugins
