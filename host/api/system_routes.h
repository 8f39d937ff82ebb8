// The routes that watch over the host itself: alive, ready, numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/http.h"
#include "telemetry/metrics.h"

namespace waybill {

// `not_ready` tells why this host cannot take submissions now, or "" if it can. Open to everybody.
std::vector<http::Route> health_routes(std::function<std::string()> not_ready);
// The numbers are about all organisations.
http::Route metrics_route(const Metrics& metrics, http::Role least_role);

}  // namespace waybill
