// Health and metrics.
#include "api/system_routes.h"

#include "base/embedded_file.h"
#include "telemetry/open_metrics.h"

namespace waybill {

std::span<const EmbeddedFile> openapi_files();  // made by the build

std::vector<http::Route> health_routes(HostReadiness readiness) {
  const auto text = [](std::string body) {
    return http::Response{.status = 200, .content_type = "text/plain; charset=utf-8", .body = std::move(body), .headers = {}};
  };
  return {{"GET", "/healthz", http::Role::none, [text](http::Request, http::Reply reply) { reply(text("OK\n")); }},
          {"GET", "/readyz", http::Role::none, [text, readiness = std::move(readiness)](http::Request, http::Reply reply) {
             if (const std::string why = readiness.not_ready(); !why.empty())
               return reply(http::error_response(503, "unavailable", why));
             std::string body = "OK\n";
             for (const auto& remark : readiness.remarks ? readiness.remarks() : std::vector<std::string>{})
               body += remark + "\n";
             reply(text(std::move(body)));
           }}};
}

http::Route document_route() {
  return {.method = "GET",
          .path = "/v1/openapi.yaml",
          .least_role = http::Role::none,
          .handle = [](http::Request, http::Reply reply) {
            reply({.status = 200,
                   .content_type = "application/yaml",
                   .body = std::string(openapi_files().front().text),
                   .headers = {}});
          }};
}

http::Route metrics_route(Metrics& metrics, std::function<std::string()> not_ready, http::Role least_role) {
  const auto handle = [&metrics, not_ready = std::move(not_ready)](http::Request request, http::Reply reply) {
    metrics.ready(not_ready().empty());
    if (prefers_open_metrics(request.accept))
      return reply({.status = 200,
                    .content_type = std::string(kOpenMetricsType),
                    .body = metrics.open_metrics_text(),
                    .headers = {{"Vary", "Accept"}}});
    reply({.status = 200,
           .content_type = "text/plain; version=0.0.4; charset=utf-8",
           .body = metrics.text(),
           .headers = {{"Vary", "Accept"}}});
  };
  return {.method = "GET", .path = "/metrics", .least_role = least_role, .handle = handle};
}

}  // namespace waybill
