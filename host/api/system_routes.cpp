// Health and metrics.
#include "api/system_routes.h"

namespace waybill {

std::vector<http::Route> health_routes(std::function<std::string()> not_ready) {
  const auto text = [](std::string body) {
    return http::Response{.status = 200, .content_type = "text/plain; charset=utf-8", .body = std::move(body), .headers = {}};
  };
  return {{"GET", "/healthz", http::Role::none, [text](http::Request, http::Reply reply) { reply(text("OK\n")); }},
          {"GET", "/readyz", http::Role::none, [text, not_ready = std::move(not_ready)](http::Request, http::Reply reply) {
             const std::string why = not_ready();
             reply(why.empty() ? text("OK\n") : http::error_response(503, "unavailable", why));
           }}};
}

http::Route metrics_route(const Metrics& metrics, http::Role least_role) {
  return {
      .method = "GET", .path = "/metrics", .least_role = least_role, .handle = [&metrics](http::Request, http::Reply reply) {
        reply({.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text(), .headers = {}});
      }};
}

}  // namespace waybill
