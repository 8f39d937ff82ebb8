// Who may call a route: by role, organisation, path, target and origin. Only the request and its token are compared, and nothing
// is read from the database: neither the text nor the time of an answer tells which organisations exist.
#include "http/access.h"

#include <algorithm>
#include <array>
#include <string>

#include "egress/ip_address.h"
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
                            ? "this is for operators: for tokens of the organisation default with the role operator"
                            : "this needs the role " + word(needed) + ", and the token has " + word(has));
}

// The path as the router read it: within a parameter, a slash or colon separates nothing.
std::string path_of(const Route& route, const Request& request) {
  std::string path;
  std::string_view rest = route.path;
  for (std::size_t open; (open = rest.find('{')) != std::string_view::npos;) {
    const auto close = rest.find('}', open);
    path += rest.substr(0, open);
    const auto value = request.parameters.find(rest.substr(open + 1, close - open - 1));
    for (const char c : value == request.parameters.end() ? std::string() : value->second) {
      if (c == '/' || c == ':') path += '%';
      path += c;
    }
    rest.remove_prefix(close + 1);
  }
  return path += rest;
}

// "/v1/intents" is above "/v1/intents", "/v1/intents/a" and "/v1/intents:batch", not above "/v1/intentsx".
bool is_above(std::string_view prefix, std::string_view path) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/' || path[prefix.size()] == ':');
}

std::optional<Response> scope_refusal(const Route& route, const Request& request, const Principal& principal) {
  if (!principal.scope) return std::nullopt;
  const auto& [targets, paths] = *principal.scope;
  const auto path = paths.empty() ? std::string() : path_of(route, request);
  if (!paths.empty() && std::none_of(paths.begin(), paths.end(), [&](const auto& one) { return is_above(one, path); }))
    return error_response(403, "forbidden", "the token is not for this path");
  if (!targets.empty() && !route.checks_targets)
    return error_response(403, "forbidden", "the token is only for intents of its targets");
  return std::nullopt;
}

bool is_literal(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return parse_address(host).has_value();
}

// What is open to everybody who reaches it must not be read by a page whose own name was made to lead here. No name leads to an
// address that was asked for as such.
std::optional<Response> name_refusal(std::string_view asked, const std::vector<std::string>& allowed_hosts) {
  const auto authority = parse_authority(asked);
  if (asked.empty()) return std::nullopt;  // HTTP/1.0 without a Host is sent by no browser
  const bool is_good =
      authority && (is_loopback_name(authority->host) || is_literal(authority->host) ||
                    std::find(allowed_hosts.begin(), allowed_hosts.end(), authority->host) != allowed_hosts.end());
  if (is_good) return std::nullopt;
  return error_response(403, "forbidden_host", "without tokens the Host must be an IP address, or one of allowed_hosts");
}

}  // namespace

Response unauthorized() {
  auto response =
      error_response(401, "unauthorized", "a valid bearer token is required, or a client certificate that is a token");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::optional<Response> origin_refusal(const Route& route, const Sender& sender, bool has_tokens,
                                       const std::vector<std::string>& allowed_hosts) {
  if (route.least_role == Role::none) return route.path == "/metrics" ? name_refusal(sender.host, allowed_hosts) : std::nullopt;
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
  if (principal->role < route.least_role) return role_refusal(route.least_role, principal->role);
  return scope_refusal(route, request, *principal);
}

std::optional<Response> target_refusal(const Principal& principal, std::string_view target) {
  if (!principal.scope || principal.scope->targets.empty()) return std::nullopt;
  const auto& targets = principal.scope->targets;
  if (std::find(targets.begin(), targets.end(), target) != targets.end()) return std::nullopt;
  return error_response(403, "forbidden", "the token is not for the target \"" + std::string(target) + "\"");
}

}  // namespace waybill::http
