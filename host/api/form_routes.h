// The routes of web forms: hand in, finalize, scan results, read back. F3 and F4 of the requirements.
#pragma once

#include <functional>
#include <vector>

#include "api/session_pool.h"
#include "http/http.h"
#include "registry/registry.h"
#include "store/dead.h"
#include "store/forms.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

struct FormSession {
  std::unique_ptr<FormStore> forms;
  std::unique_ptr<DeadStore> dead;
};
using FormPool = SessionPool<FormSession>;

struct FormParts {
  const LiveRegistry& registry;
  const ActionTypes& types;
  FormPool& pool;
  std::function<void()> wake;  // something may have become due
  Log& log;
  Metrics& metrics;
};

// The parts must outlive every request.
std::vector<Route> form_routes(FormParts parts);

}  // namespace waybill
