// Putting the surfaces together.
#include "app/routes.h"

#include <iterator>

#include "api/dead_routes.h"
#include "api/system_routes.h"
#include "console/history_page.h"

namespace waybill {
namespace {

RouteFunction unless(std::function<std::string()> closed, RouteFunction handle) {
  return [closed = std::move(closed), handle = std::move(handle)](Request request, Reply reply) {
    if (const auto why = closed(); !why.empty()) return reply(error_response(503, "unavailable", why));
    handle(std::move(request), std::move(reply));
  };
}

}  // namespace

std::vector<Route> all_routes(Surfaces surfaces) {
  std::vector<Route> routes = intent_routes(surfaces.intents);
  for (auto surface : {form_routes(surfaces.forms), dead_routes(surfaces.forms),
                       admin_routes(surfaces.forms.pool, std::move(surfaces.reload)), console_routes(surfaces.intents.pool)})
    std::move(surface.begin(), surface.end(), std::back_inserter(routes));
  for (auto& route : routes)
    if (route.least_role >= Role::admin) route.extra_time = [](const Request&) { return kOperatorsTime; };
  if (surfaces.closed)
    for (auto& route : routes) route.handle = unless(surfaces.closed, std::move(route.handle));
  for (auto& route : system_routes(surfaces.intents.metrics, std::move(surfaces.not_ready))) routes.push_back(std::move(route));
  return routes;
}

}  // namespace waybill
