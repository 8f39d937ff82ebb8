// The operators' routes of targets: stop sending to one, resume it, look which ones are stopped.  O5
#pragma once

#include <functional>
#include <vector>

#include "api/form_pool.h"
#include "http/http.h"
#include "registry/registry.h"
#include "telemetry/log.h"

namespace waybill {

struct TargetParts {
  FormPool& pool;
  const LiveRegistry& registry;
  Log& log;
  std::function<void()> is_due;  // work may have become due
};

// The parts must outlive every request.
std::vector<http::Route> target_routes(TargetParts parts);

}  // namespace waybill
