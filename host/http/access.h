// Who may call a route: compares the token's organisation and role with the route's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"

namespace waybill::http {

Response unauthorized();  // 401

// 403 for a request that a page of another origin may have sent (`host` and `origin`: the headers). Pages of this server are
// only called from themselves. Without tokens nothing is asked from elsewhere, and only under a name that is surely ours:
// loopback, or one of `allowed_hosts`. Routes that are open to everybody are exempt.
struct Sender {
  std::string_view host;
  std::optional<std::string_view> origin;
};
std::optional<Response> origin_refusal(const Route& route, const Sender& sender, bool has_tokens,
                                       const std::vector<std::string>& allowed_hosts);

// A response unless this principal may send this request to this route:
// - 401 without a principal;
// - 404 if the path has an {org} that is not the principal's organisation, whether it exists or not, whatever the role; a route
//   for operators is about any organisation, and is exempt;
// - 403 for a role below the route's;
// - 403 if the token has paths and none is the request's or above it, and if it has targets and the route does not check them.
std::optional<Response> access_refusal(const Route& route, const Request& request, const std::optional<Principal>& principal);

// 403 if the principal's token has targets, and this is none of them.
std::optional<Response> target_refusal(const Principal& principal, std::string_view target);

}  // namespace waybill::http
