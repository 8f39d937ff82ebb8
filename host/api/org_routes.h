// The operators' routes of organisations: make, list, look, disable.  N3
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "http/http.h"
#include "telemetry/log.h"

namespace waybill {

struct OrgParts {
  FormPool& pool;
  Log& log;
};

// The parts must outlive every request.
std::vector<http::Route> org_routes(OrgParts parts);

}  // namespace waybill
