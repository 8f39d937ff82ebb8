// HTTP routes of pipelines: handing in, moving by hand, listing.
#pragma once

#include <vector>

#include "api/form_pool.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "intake/pipeline_intake.h"
#include "registry/registry.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace waybill {

struct PipelineParts {
  const PipelineIntake& intake;
  const LiveRegistry& registry;
  FormPool& pool;
  Log& log;
  Metrics& metrics;
  PublicIds ids = {};
  Tracer* tracer = nullptr;  // null: there are no spans, and traces are passed on
};

// The parts must outlive every request.
std::vector<http::Route> pipeline_routes(PipelineParts parts);

}  // namespace waybill
