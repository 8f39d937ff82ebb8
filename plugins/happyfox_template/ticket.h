// Tickets as HappyFox's API 1.1 has them: what is posted, and how ours is known again.
#pragma once

#include <nlohmann/json.hpp>

#include "common/form_context.h"
#include "common/form_text.h"
#include "common/mail_address_rules.h"
#include "common/mail_header.h"
#include "happyfox_template/settings.h"

namespace waybill::plugins::happyfox {

// What our tickets carry, and are searched by.
inline std::string marker_of(std::string_view key) { return "[waybill:" + key_word(key) + ']'; }

// None if the form lacks what a ticket needs: `problem` then ends the sentence "the submission ...".
inline std::optional<Json> ticket_of(const Form& form, const FormText& words, const std::string& category,
                                     const Settings& settings, const std::string& marker, std::string& problem) {
  const auto* fields = field(form.data, "fields");
  const auto line = [&](const std::string& name) {
    const auto* value = fields && fields->is_object() ? field(*fields, name.c_str()) : nullptr;
    return value && value->is_string() ? trimmed_line(value->get_ref<const std::string&>(), 254) : std::string{};
  };
  const auto email = line(settings.email_field), name = line(settings.name_field);
  if (email.empty()) return problem = "has no text in the field \"" + one_line(settings.email_field) + '"', std::nullopt;
  Json ticket{{"name", name.empty() ? email : name}, {"email", email}, {"category", std::stoll(category)}};
  ticket["subject"] = trimmed_line(words.subject, 200);  // what is longer might be cut, and our id with it
  if (settings.custom_field != 0)
    ticket["t-cf-" + std::to_string(settings.custom_field)] = marker;
  else
    ticket["subject"] = ticket["subject"].get<std::string>() + ' ' + marker;
  if (words.text) ticket["text"] = *words.text;
  if (words.html) ticket["html"] = *words.html;
  return ticket;
}

inline std::string search_query(const Settings& settings, const std::string& marker) {
  const auto phrase = '"' + marker + '"';
  const auto query = settings.custom_field == 0 ? phrase : '"' + settings.custom_field_name + "\":" + phrase;
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : query) {
    const auto byte = static_cast<unsigned char>(c);
    if (plugins::detail::is_alnum(c) || c == '-' || c == '_' || c == '.')
      out += c;
    else
      out += '%', out += kHex[byte >> 4], out += kHex[byte & 15];
  }
  return out;
}

inline bool is_ours(const Json& ticket, const std::string& marker) {
  const auto has = [&](const Json* text) {
    return text && text->is_string() && text->get_ref<const std::string&>().find(marker) != std::string::npos;
  };
  if (!ticket.is_object()) return false;
  const auto* custom = field(ticket, "custom_fields");
  return has(field(ticket, "subject")) ||
         (custom && custom->is_array() && std::any_of(custom->begin(), custom->end(), [&](const Json& one) {
            return one.is_object() && has(field(one, "value"));
          }));
}

}  // namespace waybill::plugins::happyfox
