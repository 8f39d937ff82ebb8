// A form's attachments as time-limited links: for templates as data, for everything else as a section of the text.
#pragma once

#include <variant>

#include "common/form_context.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

using plugin::Outcome;
using plugin::Reach;

inline Outcome malformed_form(std::string detail) {
  return Outcome::rejected("invalid_form").reach(Reach::not_sent).detail(std::move(detail));
}

struct Link {
  std::string name;
  std::string url;  // empty: the attachment is no longer available
  std::string content_type;
  std::int64_t size = 0;
  std::int64_t expires = 0;
};
using Links = std::vector<Link>;

// No link outlives the submission that it belongs to.
inline std::variant<Links, Outcome> sign_links(const Form& form, const plugin::Links& signer, std::int64_t ttl,
                                               std::int64_t now) {
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

inline Json links_json(const Links& links) {
  auto list = Json::array();
  for (const auto& link : links) {
    Json one{{"name", link.name}, {"size", link.size}, {"contentType", link.content_type}};
    if (!link.url.empty()) one["url"] = link.url, one["expiresAt"] = rfc3339(link.expires);
    list.push_back(std::move(one));
  }
  return list;
}

inline std::string fate(const Link& link) {
  if (link.url.empty()) return "no longer available";
  return std::to_string(link.size) + " bytes, until " + rfc3339(link.expires);
}

// Those that a rendered part does not show. What is no longer available is always told.
inline Links not_shown_in(std::string_view rendered, const Links& links) {
  Links out;
  for (const auto& link : links)
    if (link.url.empty() || rendered.find(link.url) == std::string_view::npos) out.push_back(link);
  return out;
}

inline void add_text_section(std::string& text, const Links& all) {
  const auto links = not_shown_in(text, all);
  if (links.empty()) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += "\nAttachments:\n";
  for (const auto& link : links)
    text += "- " + link.name + " (" + fate(link) + ")" + (link.url.empty() ? "" : "\n  " + link.url) + '\n';
}

}  // namespace waybill::plugins
