// Text as it crosses the boundary, and the names of secrets in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/plugin.h"
#include "waybill/testkit/network.hpp"

namespace waybill::fake_host {

inline std::string_view view(wb_str text) {
  return text.ptr == nullptr ? std::string_view{} : std::string_view{text.ptr, text.len};
}
inline std::string text(wb_str text) { return std::string(view(text)); }

bool is_utf8(std::string_view bytes);

// Fills in every "{secret:NAME}". None if a brace is not closed, or `value_of` knows no secret of that name.
using SecretLookup = std::function<std::optional<std::string>(std::string_view name)>;
std::optional<std::string> fill_secrets(std::string_view value, const SecretLookup& value_of);
// The same of "{oauth2:NAME}".
std::optional<std::string> fill_tokens(std::string_view value, const SecretLookup& token_of);
// The body of a request with its secrets in their places. None if one is unknown, or they are out of order.
std::optional<std::string> fill_body(std::string_view body, const std::vector<testkit::BodySecret>& secrets,
                                     const SecretLookup& value_of);

}  // namespace waybill::fake_host
