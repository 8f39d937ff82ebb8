// What is written about a form, with the links to its attachments: form_links.h, form_html.h and form_text.h.
#include "common/form_text.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "common/calendar.h"
#include "common/form_context.h"
#include "common/form_html.h"
#include "common/text.h"

namespace waybill::plugins {

Outcome malformed_form(std::string detail) {
  return Outcome::rejected("invalid_form").reach(Reach::not_sent).detail(std::move(detail));
}

std::variant<Links, Outcome> sign_links(const Form& form, const plugin::Links& signer, std::int64_t ttl, std::int64_t now) {
  if (form.kept_until) ttl = std::min(ttl, *form.kept_until - now);
  Links links;
  for (const auto& attachment : form.attachments) {
    Link link{name_in_line(attachment.name, 200), {}, one_line(attachment.content_type), attachment.size, now + ttl};
    if (ttl > 0) {
      try {
        auto url = signer.sign(attachment.object_uri, std::chrono::seconds(ttl));
        if (!url)  // the fault of none but this submission: others have no attachments, and their mail goes out
          return Outcome::transient("no_link_key")
              .reach(Reach::not_sent)
              .detail("this host has no key to sign links to attachments with (links.key)");
        link.url = std::move(*url);
      } catch (const std::invalid_argument&) {
        return malformed_form("there can be no link to the attachment at \"" + one_line(attachment.object_uri) + '"');
      }
    }
    links.push_back(std::move(link));
  }
  return links;
}

Json links_json(const Links& links) {
  auto list = Json::array();
  for (const auto& link : links) {
    Json one{{"name", link.name}, {"size", link.size}, {"contentType", link.content_type}};
    if (!link.url.empty()) one["url"] = link.url, one["expiresAt"] = rfc3339(link.expires);
    list.push_back(std::move(one));
  }
  return list;
}

std::string fate(const Link& link) {
  if (link.url.empty()) return "no longer available";
  return std::to_string(link.size) + " bytes, until " + rfc3339(link.expires);
}

Links not_shown_in(std::string_view rendered, const Links& links) {
  Links out;
  for (const auto& link : links)
    if (link.url.empty() || rendered.find(link.url) == std::string_view::npos) out.push_back(link);
  return out;
}

void add_text_section(std::string& text, const Links& all) {
  const auto links = not_shown_in(text, all);
  if (links.empty()) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += "\nAttachments:\n";
  for (const auto& link : links)
    text += "- " + link.name + " (" + fate(link) + ")" + (link.url.empty() ? "" : "\n  " + link.url) + '\n';
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string html_unescaped(std::string_view html) {
  static constexpr std::pair<std::string_view, char> kEscapes[] = {
      {"&amp;", '&'},  {"&#38;", '&'},  {"&quot;", '"'}, {"&#34;", '"'},  {"&#39;", '\''}, {"&#x27;", '\''}, {"&apos;", '\''},
      {"&#x2F;", '/'}, {"&#x2f;", '/'}, {"&#47;", '/'},  {"&#x3D;", '='}, {"&#x3d;", '='}, {"&#61;", '='},   {"&#x60;", '`'}};
  std::string out;
  while (!html.empty()) {
    const auto* found = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                     [&](const auto& escape) { return html.substr(0, escape.first.size()) == escape.first; });
    const bool escape = found != std::end(kEscapes);
    out += escape ? found->second : html.front();
    html.remove_prefix(escape ? found->first.size() : 1);
  }
  return out;
}

void add_html_section(std::string& html, const Links& all) {
  const auto links = not_shown_in(html_unescaped(html), all);
  if (links.empty()) return;
  std::string section = "\n<p>Attachments:</p>\n<ul>\n";
  for (const auto& link : links) {
    const auto name = html_escaped(link.name);
    section += "<li>" + (link.url.empty() ? name : "<a href=\"" + html_escaped(link.url) + "\">" + name + "</a>") + " (" +
               html_escaped(fate(link)) + ")</li>\n";
  }
  section += "</ul>\n";

  static constexpr std::string_view kEnd = "</body";
  const auto end =
      std::find_end(html.begin(), html.end(), kEnd.begin(), kEnd.end(), [](char x, char y) { return lower(x) == y; });
  html.insert(static_cast<std::size_t>(end - html.begin()), section);
}

namespace {

Outcome unknown_template(std::string_view id) {
  return Outcome::rejected("unknown_template")
      .reach(Reach::not_sent)
      .detail("the registry has no template \"" + one_line(id) + '"');
}

void take_parts(plugin::Templates::Parts& parts, const Wording& wording, FormText& out) {
  const auto part = [&](const char* name) {
    const auto found = parts.find(name);
    return found == parts.end() ? std::nullopt : std::optional<std::string>(std::move(found->second));
  };
  if (out.subject.empty()) out.subject = trimmed_line(part("subject").value_or(""));
  out.text = part("text");
  if (wording.html) out.html = part("html");
}

std::string least_text(const Form& form) {
  return "A form was submitted; details to follow.\n\nSubmission: " + trimmed_line(form.reference) +
         "\nForm: " + name_in_line(form.name) + '\n';
}

}  // namespace

FormWriter::FormWriter(plugin::Host host) : templates_(host.templates()), links_(host.links()), timer_(host.timer()) {}

std::variant<FormText, Outcome> FormWriter::write(const Form& form, const Wording& wording) const {
  auto signed_links =
      wording.has_links ? sign_links(form, links_, wording.link_ttl, timer_.unix_seconds()) : std::variant<Links, Outcome>();
  if (auto* refusal = std::get_if<Outcome>(&signed_links)) return std::move(*refusal);
  const auto& links = std::get<Links>(signed_links);
  auto data = form.data;
  data["links"] = links_json(links);
  return render(form, wording, links, data.dump());
}

std::variant<FormText, Outcome> FormWriter::render(const Form& form, const Wording& wording, const Links& links,
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
      take_parts(*parts, wording, out);
    }
  } catch (const std::invalid_argument&) {
    return malformed_form("the template \"" + one_line(wording.template_id) + "\" is malformed");
  }
  if (!out.text && !out.html) out.text = least_text(form);
  if (out.text) add_text_section(*out.text, links);
  if (out.html) add_html_section(*out.html, links);
  if (out.subject.empty()) out.subject = trimmed_line("Form " + name_in_line(form.name) + ": submission " + form.reference);
  return out;
}

}  // namespace waybill::plugins
