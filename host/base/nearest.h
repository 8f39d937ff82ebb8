// The known word that a misspelt one most probably means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace waybill {

// "" if none is near: more than a third of its letters would have to change.
std::string nearest(std::string_view word, std::span<const std::string> known);
// "; did you mean \"email_raw\"?", or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace waybill
