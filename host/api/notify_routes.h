// The routes of organisations' notifications: channels, alert rules, events, deliveries. N1 to N4 and N11 of the requirements.
#pragma once

#include <vector>

#include "api/notify_json.h"
#include "api/notify_pool.h"
#include "api/waiters.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "intake/event_intake.h"
#include "telemetry/log.h"
#include "tracing/tracer.h"

namespace waybill {

struct NotifyParts {
  EventIntake& intake;
  NotifyPool& pool;
  Waiters& waiters;
  const ActionTypes& types;
  CheckUrl check_url;
  bool has_key = false;         // without a master key no channel can be made
  std::size_t per_org = 5;      // deliveries to channels that an organisation may have under way
  std::size_t per_channel = 3;  // of these, to one channel
  Log& log;
  PublicIds ids = {};
  Tracer* tracer = nullptr;  // null: there are no spans, and traces are passed on
};

// The parts must outlive every request.
std::vector<http::Route> notify_routes(NotifyParts parts);

}  // namespace waybill
