// Putting the surfaces together.
#include "cli/routes.h"

#include <iterator>

#include "api/dead_routes.h"
#include "api/system_routes.h"
#include "console/history_page.h"

namespace waybill {

std::vector<Route> all_routes(Surfaces surfaces) {
  std::vector<Route> routes = intent_routes(surfaces.intents);
  for (auto surface :
       {form_routes(surfaces.forms), dead_routes(surfaces.forms), admin_routes(surfaces.forms.pool, std::move(surfaces.reload)),
        console_routes(surfaces.intents.pool), system_routes(surfaces.intents.metrics, std::move(surfaces.not_ready))})
    std::move(surface.begin(), surface.end(), std::back_inserter(routes));
  for (auto& route : routes)
    if (route.least_role >= Role::admin) route.extra_time = [](const Request&) { return kOperatorsTime; };
  return routes;
}

}  // namespace waybill
