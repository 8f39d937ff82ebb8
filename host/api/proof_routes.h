// The administrators' route that proves what was sent for a submission.  O5
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

// The arguments must outlive every request.
std::vector<http::Route> proof_routes(FormPool& pool, Log& log, const PublicIds& ids);

}  // namespace waybill
