// Putting the surfaces together.
#include "cli/routes.h"

#include <iterator>

#include "api/system_routes.h"
#include "console/history_page.h"

namespace waybill {

std::vector<Route> all_routes(const IntentParts& parts, std::function<std::string()> not_ready) {
  std::vector<Route> routes = intent_routes(parts);
  for (auto surface : {console_routes(parts.pool), system_routes(parts.metrics, std::move(not_ready))})
    std::move(surface.begin(), surface.end(), std::back_inserter(routes));
  return routes;
}

}  // namespace waybill
