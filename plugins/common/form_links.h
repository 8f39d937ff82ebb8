// A form's attachments as time-limited links: for templates as data, for everything else as a section of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/json.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

using plugin::Outcome;
using plugin::Reach;

struct Form;

Outcome malformed_form(std::string detail);

struct Link {
  std::string name;
  std::string url;  // empty: the attachment is no longer available
  std::string content_type;
  std::int64_t size = 0;
  std::int64_t expires = 0;
};
using Links = std::vector<Link>;

// No link outlives the submission that it belongs to.
std::variant<Links, Outcome> sign_links(const Form& form, const plugin::Links& signer, std::int64_t ttl, std::int64_t now);

Json links_json(const Links& links);

std::string fate(const Link& link);

// Those that a rendered part does not show. What is no longer available is always told.
Links not_shown_in(std::string_view rendered, const Links& links);

void add_text_section(std::string& text, const Links& all);

}  // namespace waybill::plugins
