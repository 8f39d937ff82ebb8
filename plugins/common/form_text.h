// What is written about a form's submission: the template's parts, or the least that is worth saying.
#pragma once

#include "common/form_html.h"

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
  explicit FormWriter(plugin::Host host) : templates_(host.templates()), links_(host.links()), timer_(host.timer()) {}

  std::variant<FormText, Outcome> write(const Form& form, const Wording& wording) const {
    auto signed_links =
        wording.has_links ? sign_links(form, links_, wording.link_ttl, timer_.unix_seconds()) : std::variant<Links, Outcome>();
    if (auto* refusal = std::get_if<Outcome>(&signed_links)) return std::move(*refusal);
    const auto& links = std::get<Links>(signed_links);
    auto data = form.data;
    data["links"] = links_json(links);
    return render(form, wording, links, data.dump());
  }

 private:
  std::variant<FormText, Outcome> render(const Form& form, const Wording& wording, const Links& links,
                                         const std::string& data) const {
    FormText out;
    try {
      if (!wording.subject_template.empty()) out.subject = trimmed_line(templates_.render_text(wording.subject_template, data));
    } catch (const std::invalid_argument&) {
      return malformed_form("the subject_template is malformed");
    }
    try {
      if (!wording.template_id.empty()) {
        auto parts = templates_.render(wording.template_id, data);
        if (!parts) return unknown_template(wording.template_id);
        take(*parts, wording, out);
      }
    } catch (const std::invalid_argument&) {
      return malformed_form("the template \"" + one_line(wording.template_id) + "\" is malformed");
    }
    if (!out.text && !out.html) out.text = least(form);
    if (out.text) add_text_section(*out.text, links);
    if (out.html) add_html_section(*out.html, links);
    if (out.subject.empty()) out.subject = trimmed_line("Form " + name_in_line(form.name) + ": submission " + form.reference);
    return out;
  }

  static Outcome unknown_template(std::string_view id) {
    return Outcome::rejected("unknown_template")
        .reach(Reach::not_sent)
        .detail("the registry has no template \"" + one_line(id) + '"');
  }

  static void take(plugin::Templates::Parts& parts, const Wording& wording, FormText& out) {
    const auto part = [&](const char* name) {
      const auto found = parts.find(name);
      return found == parts.end() ? std::nullopt : std::optional<std::string>(std::move(found->second));
    };
    if (out.subject.empty()) out.subject = trimmed_line(part("subject").value_or(""));
    out.text = part("text");
    if (wording.html) out.html = part("html");
  }

  static std::string least(const Form& form) {
    return "A form was submitted; details to follow.\n\nSubmission: " + trimmed_line(form.reference) +
           "\nForm: " + name_in_line(form.name) + '\n';
  }

  plugin::Templates templates_;
  plugin::Links links_;
  plugin::Timers timer_;
};

}  // namespace waybill::plugins
