// How a text names what the host fills in on the way out: "{secret:NAME}", "{oauth2:NAME}".
#pragma once

#include <string_view>

namespace waybill {

inline constexpr std::string_view kSecretOpens = "{secret:";
inline constexpr std::string_view kOAuth2Opens = "{oauth2:";

}  // namespace waybill
