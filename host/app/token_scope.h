// What a token may be for: held against the routes of the host and the targets of the registry, so that no token is made that
// could never be used.
#pragma once

#include <string>
#include <vector>

#include "http/http.h"

namespace waybill {

struct RoutePath {
  std::string path;       // "/v1/intents/{id}"
  http::Role least_role;  // the least of those that its methods need
  bool checks_targets;    // as http::Route::checks_targets
};
// Those of all_routes(), read from the API's document; a test holds the two against each other.
std::vector<RoutePath> documented_paths();

struct TokenScope {
  std::string org;
  http::Role role;
  bool has_targets;  // the token is for some targets only
};
// Why no request that this token may send has this path or one below it; "" if there is one. `path` begins with a slash.
std::string reach_fault(const std::string& path, const TokenScope& token, const std::vector<RoutePath>& routes);
// Why there is no such target; "" if there is.
std::string target_fault(const std::string& target, const std::vector<std::string>& known);

}  // namespace waybill
