// The section of links in a text that is HTML.
#pragma once

#include "common/form_links.h"

namespace waybill::plugins {

inline std::string html_escaped(std::string_view text) {
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

// Without the escapes that template engines write in attribute values, so that a URL can be found again.
inline std::string html_unescaped(std::string_view html) {
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

// Before the end of the body, if the text has one.
inline void add_html_section(std::string& html, const Links& all) {
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

}  // namespace waybill::plugins
