// The section of links in a text that is HTML.
#pragma once

#include "common/form_links.h"

namespace waybill::plugins {

std::string html_escaped(std::string_view text);

// Without the escapes that template engines write in attribute values, so that a URL can be found again.
std::string html_unescaped(std::string_view html);

// Before the end of the body, if the text has one.
void add_html_section(std::string& html, const Links& all);

}  // namespace waybill::plugins
