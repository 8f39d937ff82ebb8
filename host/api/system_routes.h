// The routes that watch over the host itself: alive, ready, numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/http.h"
#include "telemetry/metrics.h"

namespace waybill {

// What /readyz says. Open to everybody.
struct HostReadiness {
  std::function<std::string()> not_ready;                  // why this host cannot take submissions now; "" if it can
  std::function<std::vector<std::string>()> remarks = {};  // what an operator should know of one that can, a line each
};
std::vector<http::Route> health_routes(HostReadiness readiness);
// docs/openapi.yaml, as it was when this program was built. Open to everybody.
http::Route document_route();
// The numbers are about all organisations.
http::Route metrics_route(Metrics& metrics, std::function<std::string()> not_ready, http::Role least_role);

}  // namespace waybill
