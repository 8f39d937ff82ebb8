// What is asked of a token endpoint, and what its answer says.
#pragma once

#include <string>

#include "config/config.h"
#include "services/http_message.h"

namespace waybill {

// Client credentials (RFC 6749, 4.4), or a service account's signed assertion (RFC 7523), which may name the endpoint itself.
// Without timeout, deadline and transport. Errors name what is wrong, never a secret.
Result<HttpRequest> token_request(const OAuth2Client& client, const Secrets& secrets, std::int64_t unix_now);

struct OAuth2Token {
  Secret value;
  std::chrono::seconds
      lifetime;  // that may be used: a tenth less than the answer said, at most a minute less, and a second at least
};
// An error is for people: the endpoint's error code, or what is wrong with its answer.
Result<OAuth2Token> token_in(const HttpResponse& answer);

}  // namespace waybill
