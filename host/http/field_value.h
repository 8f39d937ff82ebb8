// Values of headers.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace waybill::http {

// Without the spaces and tabs around it (RFC 9110, 5.5).
inline std::string_view trimmed(std::string_view value) {
  const auto first = value.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

// The token of an Authorization header, "" without one. The scheme is Bearer, in upper or lower case (RFC 9110, 11.1).
inline std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (!is_ascii_word(authorization.substr(0, kScheme.size()), kScheme)) return {};
  authorization.remove_prefix(kScheme.size());
  return authorization.substr(std::min(authorization.find_first_not_of(' '), authorization.size()));
}

}  // namespace waybill::http
