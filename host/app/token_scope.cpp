// Paths are compared as http/access.cpp does: a token's path is that of a request, or stands above it.
#include "app/token_scope.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/embedded_file.h"
#include "base/nearest.h"

namespace waybill {

std::span<const EmbeddedFile> openapi_files();  // made by the build

namespace {

constexpr std::string_view kTargetPaths = "/v1/intents";  // here and below, routes ask about each target
constexpr std::array<std::string_view, 5> kRoles{"none", "member", "admin", "owner", "operator"};  // as http::Role

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  for (path.remove_prefix(1);;) {
    const auto slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

// A colon within a parameter is compared as "%:", which no token's path holds.
bool fits(std::string_view segment, std::string_view pattern, bool is_last) {
  if (is_parameter(pattern)) return segment.find(':') == std::string_view::npos;
  return segment == pattern || (is_last && pattern.starts_with(segment) && pattern[segment.size()] == ':');
}

enum class Fit { none, of_another_org, good };
Fit fit(std::string_view path, const RoutePath& route, const TokenScope& token) {
  const auto mine = segments_of(path), theirs = segments_of(route.path);
  if (mine.size() > theirs.size()) return Fit::none;
  auto found = Fit::good;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!fits(mine[i], theirs[i], i + 1 == mine.size())) return Fit::none;
    if (theirs[i] == "{org}" && mine[i] != token.org && route.least_role < http::Role::operator_) found = Fit::of_another_org;
  }
  return found;
}

std::string word(http::Role role) { return std::string(kRoles.at(static_cast<std::size_t>(role))); }

}  // namespace

std::vector<RoutePath> documented_paths() {
  constexpr std::string_view kRole = "      x-role: ";
  std::vector<RoutePath> paths;
  std::string_view rest = openapi_files().front().text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.starts_with("  /") && line.ends_with(':')) {
      const auto path = line.substr(2, line.size() - 3);
      paths.push_back({std::string(path), http::Role::operator_, path.starts_with(kTargetPaths)});
    } else if (line.starts_with(kRole) && !paths.empty()) {
      const auto at = std::find(kRoles.begin(), kRoles.end(), line.substr(kRole.size()));
      paths.back().least_role = std::min(paths.back().least_role, static_cast<http::Role>(at - kRoles.begin()));
    }
  }
  return paths;
}

std::string reach_fault(const std::string& path, const TokenScope& token, const std::vector<RoutePath>& routes) {
  bool is_of_another_org = false;
  std::vector<const RoutePath*> found;
  std::vector<std::string> known;
  for (const auto& route : routes) {
    known.push_back(route.path);
    const auto how = fit(path, route, token);
    if (how == Fit::good) found.push_back(&route);
    is_of_another_org = is_of_another_org || how == Fit::of_another_org;
  }
  if (found.empty() && is_of_another_org)
    return "\"" + path + "\" is of another organisation than the token's, \"" + token.org + "\"";
  if (found.empty()) return "no route of the API is at \"" + path + "\" or below it" + did_you_mean(path, known);
  std::erase_if(found, [&](const auto* route) { return token.has_targets && !route->checks_targets; });
  if (found.empty())
    return "a token with --target is only for " + std::string(kTargetPaths) + " and what is below it, which \"" + path +
           "\" is not";
  const auto least = (*std::min_element(found.begin(), found.end(), [](const auto* a, const auto* b) {
                       return a->least_role < b->least_role;
                     }))->least_role;
  if (token.role >= least) return {};
  return "\"" + path + "\" needs the role " + word(least) + ", and the token has " + word(token.role);
}

std::string target_fault(const std::string& target, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), target) != known.end()) return {};
  return "the registry has no target \"" + target + "\"" + did_you_mean(target, known);
}

}  // namespace waybill
