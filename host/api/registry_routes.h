// The operators' routes of the registry's history: which version came into force when, and by whom; and what is in one.  O5
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

// The pool and the log must outlive every request.
std::vector<http::Route> registry_routes(FormPool& pool, Log& log);

}  // namespace waybill
