// The route that tells how long the queue is: of their own organisation to administrators, of all to operators.  O5
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

// The arguments must outlive every request.
std::vector<http::Route> queue_routes(FormPool& pool, Log& log);

}  // namespace waybill
