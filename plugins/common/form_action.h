// What a form's action says of where and what to send: the destination of the plugins that write about forms.
#pragma once

#include "common/settings_reader.h"
#include "common/surrogates.h"
#include "common/text.h"

namespace waybill::plugins {

struct FormAction {
  std::string destination;
  std::string template_id;
  std::string subject_template;
  std::string category;
};

// None if it is malformed: then `wrong` was called.
inline std::optional<FormAction> read_form_action(std::string_view bytes, const Wrong& wrong) {
  std::string problem;
  const auto json = parse_object(without_lone_surrogates(bytes), problem);
  if (!json) return wrong("", "the destination " + problem), std::nullopt;
  FormAction out;
  const std::pair<const char*, std::string&> texts[] = {{"destination", out.destination},
                                                        {"template_id", out.template_id},
                                                        {"subject_template", out.subject_template},
                                                        {"happyfox_category", out.category}};
  for (const auto& [name, text] : texts) {
    const auto* value = field(*json, name);
    if (value && !value->is_string()) return wrong('/' + std::string(name), std::string(name) + " must be text"), std::nullopt;
    if (value) text = value->get<std::string>();
  }
  return out;
}

}  // namespace waybill::plugins
