// The operators' routes of hosts: look how they are, drain one, let it work again.  O5
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

// The pool and the log must outlive every request.
std::vector<http::Route> host_routes(FormPool& pool, Log& log);

}  // namespace waybill
