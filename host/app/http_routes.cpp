// Putting the surfaces together.
#include "app/http_routes.h"

#include <iterator>

#include "api/failed_routes.h"
#include "api/host_routes.h"
#include "api/org_routes.h"
#include "api/proof_routes.h"
#include "api/queue_routes.h"
#include "api/registry_routes.h"
#include "api/target_routes.h"
#include "api/waiting_routes.h"
#include "console/history_page.h"

namespace waybill {
namespace {

http::RouteFunction unless(std::function<std::string()> closed, http::RouteFunction handle) {
  return [closed = std::move(closed), handle = std::move(handle)](http::Request request, http::Reply reply) {
    if (const auto why = closed(); !why.empty()) return reply(http::error_response(503, "unavailable", why));
    handle(std::move(request), std::move(reply));
  };
}

}  // namespace

std::vector<http::Route> all_routes(Surfaces surfaces) {
  std::vector<http::Route> routes = intent_routes(surfaces.intents);
  for (auto surface :
       {form_routes(surfaces.forms), pipeline_routes(surfaces.pipelines), dead_routes(surfaces.dead),
        notify_routes(surfaces.notify), org_routes({surfaces.forms.pool, surfaces.forms.log}),
        target_routes({surfaces.forms.pool, surfaces.dead.registry, surfaces.forms.log, surfaces.dead.is_due}),
        host_routes(surfaces.forms.pool, surfaces.forms.log), registry_routes(surfaces.forms.pool, surfaces.forms.log),
        failed_routes({surfaces.forms.pool, surfaces.forms.log, surfaces.dead.is_due, surfaces.dead.ids}),
        proof_routes(surfaces.forms.pool, surfaces.forms.log, surfaces.dead.ids),
        queue_routes(surfaces.forms.pool, surfaces.forms.log),
        waiting_routes({surfaces.forms.pool, surfaces.dead.registry, surfaces.dead.types, surfaces.forms.log,
                        surfaces.dead.is_due, surfaces.dead.ids}),
        admin_routes(surfaces.forms.pool, std::move(surfaces.reload)), console_routes(surfaces.intents.pool)})
    std::move(surface.begin(), surface.end(), std::back_inserter(routes));
  for (auto& route : routes)
    if (route.least_role >= http::Role::admin) route.extra_time = [](const http::Request&) { return kOperatorsTime; };
  if (surfaces.large_bodies != nullptr)
    for (auto& route : routes) route = read_in(*surfaces.large_bodies, std::move(route), surfaces.forms.log);
  if (surfaces.closed)
    for (auto& route : routes) route.handle = unless(surfaces.closed, std::move(route.handle));
  for (auto& route : health_routes(surfaces.readiness)) routes.push_back(std::move(route));
  routes.push_back(document_route());
  if (surfaces.metrics_readers)
    routes.push_back(metrics_route(surfaces.intents.metrics, surfaces.readiness.not_ready, *surfaces.metrics_readers));
  return routes;
}

std::vector<http::Route> watching_routes(Metrics& metrics, HostReadiness readiness) {
  auto routes = health_routes(readiness);
  routes.push_back(metrics_route(metrics, std::move(readiness.not_ready), http::Role::none));
  return routes;
}

}  // namespace waybill
