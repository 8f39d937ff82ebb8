// Texts for manual pages.
#pragma once

#include <string>
#include <string_view>

namespace waybill::roff {

std::string text(std::string_view plain);  // as it is, whatever it begins with
std::string bold(std::string_view plain);
std::string italic(std::string_view plain);
std::string markdown(std::string_view marked);  // one paragraph: code becomes bold, links their words
std::string heading(std::string_view title);
std::string example(std::string_view lines);  // as they are

}  // namespace waybill::roff
