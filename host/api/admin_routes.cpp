// Answers of the administrators' routes.
#include "api/admin_routes.h"

#include <nlohmann/json.hpp>

#include "api/intent_json.h"

namespace waybill {
namespace {

using Json = nlohmann::ordered_json;

Response answer(const Reloaded& reloaded) {
  if (reloaded.error) return failure_response(*reloaded.error);
  Json json;
  if (reloaded.problems.empty()) {
    json = {{"targets", reloaded.targets},
            {"forms", reloaded.forms},
            {"added", reloaded.changes.added},
            {"changed", reloaded.changes.changed},
            {"removed", reloaded.changes.removed}};
  } else {
    Json problems = Json::array();
    for (const auto& p : reloaded.problems)
      problems.push_back({{"file", p.file}, {"line", p.line}, {"field", p.field}, {"message", p.message}});
    json["error"] = {{"code", "invalid_registry"},
                     {"message", "the registry has mistakes; the one that was in use stays in use"},
                     {"problems", std::move(problems)}};
  }
  return {.status = reloaded.problems.empty() ? 200 : 422, .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace

std::vector<Route> admin_routes(FormPool& pool, Reload reload) {
  return {{"POST", "/v1/admin/reload", Role::admin, [&pool, reload = std::move(reload)](Request request, Reply reply) {
             pool.ask([reload, actor = request.principal.actor(), reply = std::move(reply)](FormSession& session) {
               reply(answer(reload(*session.forms, actor)));
             });
           }}};
}

}  // namespace waybill
