// The token that each request to GOV.UK Notify carries: a JWT signed with HS256, good for 30 seconds.
#pragma once

#include "common/base64.h"
#include "common/calendar.h"
#include "govuk_notify/settings.h"

namespace waybill::plugins::notify {

inline std::string base64url(std::string_view bytes) {
  auto out = base64(bytes);
  out.erase(out.find_last_not_of('=') + 1);
  for (auto& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

// None: this host has no secret of that name.
inline std::optional<std::string> token_of(const plugin::Signer& sign, const Account& account, std::int64_t issued_at) {
  const auto claims = Json{{"iss", account.service_id}, {"iat", issued_at}}.dump();
  const auto text = base64url(R"({"typ":"JWT","alg":"HS256"})") + '.' + base64url(claims);
  const auto macs = sign.hmac_sha256(account.key, {text});
  if (!macs || macs->empty()) return std::nullopt;
  const auto& newest = macs->front();
  return text + '.' + base64url({reinterpret_cast<const char*>(newest.data()), newest.size()});
}

}  // namespace waybill::plugins::notify
