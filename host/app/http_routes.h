// All HTTP routes of the host in one table, each with the role that it needs (http/access.h checks it). docs/openapi.yaml
// describes them; a test holds the two against each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/admin_routes.h"
#include "api/dead_routes.h"
#include "api/form_routes.h"
#include "api/intent_routes.h"
#include "api/large_bodies.h"
#include "api/notify_routes.h"
#include "api/pipeline_routes.h"
#include "api/system_routes.h"

namespace waybill {

struct Surfaces {
  IntentParts intents;
  FormParts forms;
  PipelineParts pipelines;
  DeadParts dead;
  NotifyParts notify;
  Reload reload;
  HostReadiness readiness;
  std::optional<http::Role> metrics_readers;  // the least role that reads /metrics here; none: they are elsewhere
  BodyPool* large_bodies = nullptr;           // where large bodies are read; null: where they come in
  std::function<std::string()> closed;        // why nothing but health and metrics is answered any more; "" while it is
};

inline constexpr Millis kOperatorsTime{60'000};  // beyond timeouts.answer, for what only operators ask

std::vector<http::Route> all_routes(Surfaces surfaces);
// Those of metrics.listen: health and metrics, open to whoever reaches it.
std::vector<http::Route> watching_routes(Metrics& metrics, HostReadiness readiness);

}  // namespace waybill
