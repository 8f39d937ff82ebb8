// The administrators' routes of what failed for good: list it, send it again.  O5
#pragma once

#include <functional>
#include <vector>

#include "api/form_pool.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

struct FailedParts {
  FormPool& pool;
  Log& log;
  std::function<void()> is_due;  // called after each commit that may have made deliveries due
  PublicIds ids = {};
};

// The parts must outlive every request.
std::vector<http::Route> failed_routes(FailedParts parts);

}  // namespace waybill
