// The routes of what waits: administrators list, end and reroute what is their organisation's, operators what is anybody's, and
// give targets a rate.  O5
#pragma once

#include <functional>
#include <vector>

#include "api/form_pool.h"
#include "base/public_ids.h"
#include "domain/action_types.h"
#include "http/http.h"
#include "registry/registry.h"
#include "telemetry/log.h"

namespace waybill {

struct WaitingParts {
  FormPool& pool;
  const LiveRegistry& registry;
  const ActionTypes& types;
  Log& log;
  std::function<void()> is_due;  // work may have become due
  PublicIds ids = {};
};

// The parts must outlive every request.
std::vector<http::Route> waiting_routes(WaitingParts parts);

}  // namespace waybill
