// Who may call a route: compares the token's organisation and role with the route's.
#pragma once

#include <optional>

#include "http/http.h"

namespace waybill::http {

Response unauthorized();  // 401

// A response unless this principal may send this request to this route:
// - 401 without a principal;
// - 404 if the path has an {org} that is not the principal's organisation, whether it exists or not, whatever the role; a route
//   for operators is about any organisation, and is exempt;
// - 403 for a role below the route's, and from other organisations than `default` for a route that is about the installation.
std::optional<Response> access_refusal(const Route& route, const Request& request, const std::optional<Principal>& principal);

}  // namespace waybill::http
