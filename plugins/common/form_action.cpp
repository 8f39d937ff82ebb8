// What the action of a form and its submission say, and whose mail that makes it: form_action.h, form_context.h and
// form_envelope.h.
#include "common/form_action.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/calendar.h"
#include "common/exact_numbers.h"
#include "common/form_context.h"
#include "common/form_envelope.h"
#include "common/mail_address_rules.h"
#include "common/surrogates.h"
#include "common/text.h"

namespace waybill::plugins {
namespace {

// None if it is malformed: then `wrong` was called.
std::optional<RecipientLookup> read_lookup(const Json& json, const Wrong& wrong) {
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

}  // namespace

std::optional<FormAction> read_form_action(std::string_view bytes, const Wrong& wrong) {
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

namespace {

// A field that must be text if it is there.
bool read_text(const Json& object, const char* name, std::string& out, std::string& problem) {
  const auto* value = field(object, name);
  if (!value) return true;
  if (!value->is_string()) return problem = std::string("has a ") + name + " that is not text", false;
  out = value->get<std::string>();
  return true;
}

bool read_attachments(const Json& context, std::vector<Attachment>& out, std::string& problem) {
  const auto* list = field(context, "attachments");
  if (!list) return true;
  if (!list->is_array()) return problem = "has attachments that are no list", false;
  for (const auto& one : *list) {
    Attachment attachment;
    if (!one.is_object()) return problem = "has an attachment that is no object", false;
    if (!read_text(one, "name", attachment.name, problem) || !read_text(one, "contentType", attachment.content_type, problem) ||
        !read_text(one, "objectUri", attachment.object_uri, problem))
      return problem = "has an attachment that " + problem, false;
    if (attachment.object_uri.empty()) return problem = "has an attachment without objectUri", false;
    if (const auto* size = field(one, "size"); size && size->is_number_integer()) attachment.size = size->get<std::int64_t>();
    out.push_back(std::move(attachment));
  }
  return true;
}

}  // namespace

std::optional<Form> read_form(std::string_view context, std::string_view payload, std::string& problem) {
  auto data = parse_object(with_exact_numbers(without_lone_surrogates(context)), problem);
  if (!data) return std::nullopt;
  Form form;
  if (!read_text(*data, "reference", form.reference, problem)) return std::nullopt;
  if (form.reference.empty()) return problem = "has no reference", std::nullopt;
  if (const auto* about = field(*data, "form")) {
    if (!about->is_object()) return problem = "has a form that is no object", std::nullopt;
    if (!read_text(*about, "id", form.name, problem) || !read_text(*about, "name", form.name, problem)) return std::nullopt;
  }
  std::string kept_until;
  if (!read_text(*data, "retentionExpiresAt", kept_until, problem)) return std::nullopt;
  form.kept_until = parse_rfc3339(kept_until);
  if (!kept_until.empty() && !form.kept_until) return problem = "has a retentionExpiresAt that is no time", std::nullopt;
  if (!read_attachments(*data, form.attachments, problem)) return std::nullopt;

  std::string ignored;
  if (!field(*data, "fields"))
    if (auto fields = parse_object(with_exact_numbers(without_lone_surrogates(payload)), ignored))
      (*data)["fields"] = std::move(*fields);
  form.data = std::move(*data);
  return form;
}

std::vector<Mailbox> Envelope::recipients() const {
  std::vector<Mailbox> all;
  for (const auto* list : {&to, &cc, &bcc})
    for (const auto& one : *list)
      if (std::none_of(all.begin(), all.end(), [&](const Mailbox& other) { return same_name(other.address, one.address); }))
        all.push_back(one);
  return all;
}

namespace {

// The text of a field; none if it has no text.
std::optional<std::string> text_in(const Json& fields, const std::string& name) {
  const auto* value = fields.is_object() ? field(fields, name.c_str()) : nullptr;
  return value && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

// What somebody entered in a field: one plain address, without a name, never a list.
std::optional<Mailbox> entered_address(const Json& fields, const std::string& name, std::string& problem) {
  const auto text = text_in(fields, name);
  const auto fault = text ? detail::fault_in_address(*text) : "it has no text";
  if (fault.empty()) return Mailbox{{}, *text};
  problem = "the field \"" + one_line(name) + "\" is not one plain address: " + fault;
  return std::nullopt;
}

std::optional<std::vector<Mailbox>> recipients_of(const FormAction& action, const Json& fields, std::string& problem) {
  if (!action.destination_field.empty()) {
    auto entered = entered_address(fields, action.destination_field, problem);
    return entered ? std::optional(std::vector<Mailbox>{std::move(*entered)}) : std::nullopt;
  }
  if (!action.lookup) return parse_mailboxes(action.destination, problem);
  const auto& lookup = *action.lookup;
  const auto found = lookup.addresses.find(text_in(fields, lookup.field).value_or(""));
  if (found != lookup.addresses.end()) return parse_mailboxes(found->second, problem);
  if (!lookup.otherwise.empty()) return parse_mailboxes(lookup.otherwise, problem);
  return problem = "the field \"" + one_line(lookup.field) + "\" has no value of the lookup", std::nullopt;
}

// An empty text is no list.
bool read_list(const std::string& text, std::vector<Mailbox>& out, std::string& problem) {
  if (text.empty()) return true;
  auto list = parse_mailboxes(text, problem);
  if (list) out = std::move(*list);
  return list.has_value();
}

}  // namespace

std::optional<Envelope> envelope_of(const FormAction& action, const Json& fields, const Mailbox& from, std::string& problem) {
  Envelope out{from, {}, {}, {}, {}};
  if (!action.from.empty()) {
    auto own = parse_mailbox(action.from, problem);
    if (!own) return std::nullopt;
    out.from = std::move(*own);
  }
  auto to = recipients_of(action, fields, problem);
  if (!to) return std::nullopt;
  out.to = std::move(*to);
  if (!read_list(action.cc, out.cc, problem) || !read_list(action.bcc, out.bcc, problem) ||
      !read_list(action.reply_to, out.reply_to, problem))
    return std::nullopt;
  if (!action.reply_to_field.empty() && !text_in(fields, action.reply_to_field).value_or("").empty()) {
    auto entered = entered_address(fields, action.reply_to_field, problem);
    if (!entered) return std::nullopt;
    out.reply_to = {std::move(*entered)};
  }
  if (out.recipients().size() > kMaxRecipients) return problem = "there are more than 100 recipients", std::nullopt;
  return out;
}

void check_envelope(const FormAction& action, const Wrong& wrong) {
  const auto count = [&](const std::string& path, const std::string& text) -> std::size_t {
    std::string problem;
    const auto list = parse_mailboxes(text, problem);
    if (!list) wrong(path, problem);
    return list ? list->size() : 0;
  };
  const auto count_if_any = [&](const std::string& path, const std::string& text) {
    return text.empty() ? 0 : count(path, text);
  };
  const int sources = !action.destination.empty() + !action.destination_field.empty() + action.lookup.has_value();
  std::size_t to = 1;
  if (sources > 1)
    wrong("/destination", "only one of destination, destination_field and destination_lookup says who gets the mail");
  else if (!action.destination.empty() || sources == 0)
    to = count("/destination", action.destination);
  if (action.lookup) {
    if (action.lookup->field.empty() || action.lookup->addresses.empty())
      wrong("/destination_lookup", "destination_lookup must have a field and addresses");
    for (const auto& [value, addresses] : action.lookup->addresses)
      to = std::max(to, count("/destination_lookup/addresses/" + value, addresses));
    to = std::max(to, count_if_any("/destination_lookup/default", action.lookup->otherwise));
  }
  std::string problem;
  if (!action.from.empty() && !parse_mailbox(action.from, problem)) wrong("/from", problem);
  if (!action.reply_to.empty() && !action.reply_to_field.empty())
    wrong("/reply_to_field", "only one of reply_to and reply_to_field says where answers go");
  count_if_any("/reply_to", action.reply_to);
  const auto others = count_if_any("/cc", action.cc) + count_if_any("/bcc", action.bcc);
  if (others > 0 && to + others > kMaxRecipients) wrong(action.cc.empty() ? "/bcc" : "/cc", "there are more than 100 recipients");
}

}  // namespace waybill::plugins
