// The routes that watch over the host itself: alive, ready, numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/http.h"
#include "telemetry/metrics.h"

namespace waybill {

// `not_ready` tells why this host cannot take submissions now, or "" if it can.
std::vector<http::Route> system_routes(const Metrics& metrics, std::function<std::string()> not_ready);

}  // namespace waybill
