// Values of headers.
#pragma once

#include <string_view>

namespace waybill::http {

// Without the spaces and tabs around it (RFC 9110, 5.5).
inline std::string_view trimmed(std::string_view value) {
  const auto first = value.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

}  // namespace waybill::http
