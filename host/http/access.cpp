// Nothing is looked up here, so neither the text nor the time of an answer tells which organisations there are.
#include "http/access.h"

#include <algorithm>
#include <array>
#include <string>

#include "http/host_header.h"

namespace waybill::http {
namespace {

bool is_of_another_organisation(const Route& route, const Request& request, const Principal& principal) {
  if (route.least_role == Role::operator_) return false;
  const auto org = request.parameters.find("org");
  return org != request.parameters.end() && org->second != principal.org_name;
}

Response role_refusal(Role needed, Role has) {
  static constexpr std::array<std::string_view, 5> kWords{"none", "member", "admin", "owner", "operator"};
  const auto word = [](Role role) { return std::string(kWords.at(static_cast<std::size_t>(role))); };
  return error_response(403, "forbidden",
                        needed == Role::operator_
                            ? "this is for operators: for tokens of the organisation default with the role owner"
                            : "this needs the role " + word(needed) + ", and the token has " + word(has));
}

}  // namespace

Response unauthorized() {
  auto response = error_response(401, "unauthorized", "a valid bearer token is required");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::optional<Response> origin_refusal(const Route& route, const Sender& sender, bool has_tokens,
                                       const std::vector<std::string>& allowed_hosts) {
  if (route.least_role == Role::none) return std::nullopt;
  const bool is_page = route.path.starts_with("/ui");
  if (has_tokens && !is_page) return std::nullopt;
  if (sender.origin && !is_same_origin(*sender.origin, sender.host))
    return error_response(403, "forbidden_origin", "a page of another origin sent this");
  if (has_tokens) return std::nullopt;
  const auto host = parse_authority(sender.host);
  const bool is_ours = host && (is_loopback_name(host->host) ||
                                std::find(allowed_hosts.begin(), allowed_hosts.end(), host->host) != allowed_hosts.end());
  if (is_ours || sender.host.empty()) return std::nullopt;  // HTTP/1.0 without a Host is sent by no browser
  return error_response(403, "forbidden_host", "without tokens the Host must be a loopback address or one of allowed_hosts");
}

std::optional<Response> access_refusal(const Route& route, const Request& request, const std::optional<Principal>& principal) {
  if (!principal) return unauthorized();
  if (is_of_another_organisation(route, request, *principal))
    return error_response(404, "not_found", "the token has no organisation of this name");
  if (route.of_installation && principal->org != kDefaultOrg)
    return error_response(403, "forbidden", "this is for the organisation that operates the installation");
  if (principal->role < route.least_role) return role_refusal(route.least_role, principal->role);
  return std::nullopt;
}

}  // namespace waybill::http
