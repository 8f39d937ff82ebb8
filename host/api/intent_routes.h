// The routes of intents: hand in, ask, and see the history. M1 to M5 of the requirements.
#pragma once

#include <vector>

#include "api/read_pool.h"
#include "api/waiters.h"
#include "base/clock.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "intake/intake.h"
#include "registry/registry.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace waybill {

struct IntentParts {
  Intake& intake;
  const LiveRegistry& registry;
  ReadPool& pool;
  Waiters& waiters;
  const Clock& clock;
  Log& log;
  Metrics& metrics;
  const ActionTypes* types = nullptr;  // null: payloads are not held against the plugins' schemas
  PublicIds ids = {};
  Tracer* tracer = nullptr;  // null: there are no spans, and traces are passed on
};

// The parts must outlive every request.
std::vector<http::Route> intent_routes(IntentParts parts);

}  // namespace waybill
