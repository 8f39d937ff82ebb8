// The routes of web forms: hand in, finalize, scan results, read back. F3 and F4 of the requirements.
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "intake/form_intake.h"
#include "registry/registry.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace waybill {

struct FormParts {
  const FormIntake& intake;
  const LiveRegistry& registry;
  FormPool& pool;
  Log& log;
  Metrics& metrics;
  PublicIds ids = {};
  Tracer* tracer = nullptr;  // null: there are no spans, and traces are passed on
};

// The parts must outlive every request.
std::vector<http::Route> form_routes(FormParts parts);

}  // namespace waybill
