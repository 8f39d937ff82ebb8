// The token that each request to GOV.UK Notify carries: a JWT signed with HS256, good for 30 seconds.
#pragma once

#include <nlohmann/json.hpp>

#include "common/json.h"
#include "govuk_notify/settings.h"
#include "waybill/plugin/jwt.hpp"

namespace waybill::plugins::notify {

// None: this host has no secret of that name.
inline std::optional<std::string> token_of(const plugin::Signer& sign, const Account& account, std::int64_t issued_at) {
  const auto claims = Json{{"iss", account.service_id}, {"iat", issued_at}}.dump();
  return plugin::jwt(sign, plugin::JwtAlgorithm::hs256, account.key, claims);
}

}  // namespace waybill::plugins::notify
