// The administrators' routes of dead letters: find, look, edit, replay, clone. F10 of the requirements.
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

struct DeadParts {
  const LiveRegistry& registry;
  const ActionTypes& types;
  FormPool& pool;
  std::function<void()> is_due;  // called after each commit that may have made deliveries due
  Log& log;
  PublicIds ids = {};
};

// The parts must outlive every request.
std::vector<http::Route> dead_routes(DeadParts parts);

}  // namespace waybill
