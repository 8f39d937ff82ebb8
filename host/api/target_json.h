// Targets as operators stop and resume them, as the wire and the command line show them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_writer.h"
#include "http/http.h"
#include "registry/registry.h"
#include "store/operations/target_store.h"

namespace waybill {

struct StoppedQuery {
  std::string after;
  std::size_t most = 50;
};
struct PauseWish {
  std::string org, reason;
};

// All: Error::invalid with a message that names the field.
Result<StoppedQuery> read_stopped_query(const http::Request& request);
Result<PauseWish> read_pause(std::string_view body);
Result<std::string> read_resume(std::string_view body);  // whose target: the name of an organisation

// "sender:<action type>" is one if a form has an action of that type.
bool has_target(const Registry& registry, std::string_view target);

Json paused_json(const TargetName& name, const TargetPause& pause);
Json resumed_json(const TargetName& name, const ResumedTarget& resumed);
Json stopped_json(const StoppedTargets& page);

}  // namespace waybill
