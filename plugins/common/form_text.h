// What is written about a form's submission: the template's parts, or the least that is worth saying.
#pragma once

#include <optional>

#include "common/form_links.h"

namespace waybill::plugins {

struct FormText {
  std::string subject;              // one line
  std::optional<std::string> text;  // one of the two is there
  std::optional<std::string> html;
};

// What the form's action asks for.
struct Wording {
  std::string template_id;       // empty: none
  std::string subject_template;  // empty: none
  bool html = true;              // false: plain text only
  std::int64_t link_ttl = 0;     // seconds
  bool has_links = true;         // to attachments
};

class FormWriter {
 public:
  explicit FormWriter(plugin::Host host);

  std::variant<FormText, Outcome> write(const Form& form, const Wording& wording) const;

 private:
  std::variant<FormText, Outcome> render(const Form& form, const Wording& wording, const Links& links,
                                         const std::string& data) const;

  plugin::Templates templates_;
  plugin::Links links_;
  plugin::Timers timer_;
};

}  // namespace waybill::plugins
