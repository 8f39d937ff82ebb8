// Health and metrics.
#include "api/system_routes.h"

namespace waybill {

std::vector<Route> system_routes(const Metrics& metrics, std::function<std::string()> not_ready) {
  const auto text = [](std::string body) {
    return Response{.status = 200, .content_type = "text/plain; charset=utf-8", .body = std::move(body), .headers = {}};
  };
  return {
      {"GET", "/healthz", Role::none, [text](Request, Reply reply) { reply(text("OK\n")); }},
      {"GET", "/readyz", Role::none,
       [text, not_ready = std::move(not_ready)](Request, Reply reply) {
         const std::string why = not_ready();
         reply(why.empty() ? text("OK\n") : error_response(503, "unavailable", why));
       }},
      {"GET", "/metrics", Role::none, [&metrics](Request, Reply reply) {
         reply(
             {.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text(), .headers = {}});
       }}};
}

}  // namespace waybill
