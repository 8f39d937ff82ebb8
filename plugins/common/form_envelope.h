// Who a form's mail is from and who gets it: as the form's action says, and the fields that it names.
#pragma once

#include "common/form_action.h"
#include "common/json.h"
#include "common/mail_address.h"

namespace waybill::plugins {

struct Envelope {
  Mailbox from;
  std::vector<Mailbox> reply_to, to, cc, bcc;

  // Each address once, in the order of To, Cc and Bcc.
  std::vector<Mailbox> recipients() const {
    std::vector<Mailbox> all;
    for (const auto* list : {&to, &cc, &bcc})
      for (const auto& one : *list)
        if (std::none_of(all.begin(), all.end(), [&](const Mailbox& other) { return same_name(other.address, one.address); }))
          all.push_back(one);
    return all;
  }
};

namespace detail {

// The text of a field; none if it has no text.
inline std::optional<std::string> text_in(const Json& fields, const std::string& name) {
  const auto* value = fields.is_object() ? field(fields, name.c_str()) : nullptr;
  return value && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

// What somebody entered in a field: one plain address, without a name, never a list.
inline std::optional<Mailbox> entered_address(const Json& fields, const std::string& name, std::string& problem) {
  const auto text = text_in(fields, name);
  const auto fault = text ? fault_in_address(*text) : "it has no text";
  if (fault.empty()) return Mailbox{{}, *text};
  problem = "the field \"" + one_line(name) + "\" is not one plain address: " + fault;
  return std::nullopt;
}

inline std::optional<std::vector<Mailbox>> recipients_of(const FormAction& action, const Json& fields, std::string& problem) {
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
inline bool read_list(const std::string& text, std::vector<Mailbox>& out, std::string& problem) {
  if (text.empty()) return true;
  auto list = parse_mailboxes(text, problem);
  if (list) out = std::move(*list);
  return list.has_value();
}

}  // namespace detail

// None, and `problem` is a sentence, if an address is no good or there are more than 100 of them. `fields` are the submission's.
inline std::optional<Envelope> envelope_of(const FormAction& action, const Json& fields, const Mailbox& from,
                                           std::string& problem) {
  Envelope out{from, {}, {}, {}, {}};
  if (!action.from.empty()) {
    auto own = parse_mailbox(action.from, problem);
    if (!own) return std::nullopt;
    out.from = std::move(*own);
  }
  auto to = detail::recipients_of(action, fields, problem);
  if (!to) return std::nullopt;
  out.to = std::move(*to);
  if (!detail::read_list(action.cc, out.cc, problem) || !detail::read_list(action.bcc, out.bcc, problem) ||
      !detail::read_list(action.reply_to, out.reply_to, problem))
    return std::nullopt;
  if (!action.reply_to_field.empty() && !detail::text_in(fields, action.reply_to_field).value_or("").empty()) {
    auto entered = detail::entered_address(fields, action.reply_to_field, problem);
    if (!entered) return std::nullopt;
    out.reply_to = {std::move(*entered)};
  }
  if (out.recipients().size() > kMaxRecipients) return problem = "there are more than 100 recipients", std::nullopt;
  return out;
}

// What is wrong with an action's addresses before any field is known.
inline void check_envelope(const FormAction& action, const Wrong& wrong) {
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
