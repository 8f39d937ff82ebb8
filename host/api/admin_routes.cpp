// Answers of the administrators' routes.
#include "api/admin_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/json_answer.h"
#include "api/json_envelope.h"

namespace waybill {
namespace {

Json plugin_changes_json(const std::vector<PluginChange>& changes) {
  Json list = Json::array();
  for (const auto& change : changes)
    list.push_back({{"actionType", change.action_type}, {"before", change.before}, {"after", change.after}});
  return list;
}

http::Response answer(const ReloadResult& reloaded) {
  if (reloaded.error) return failure_response(*reloaded.error);
  Json json;
  if (reloaded.problems.empty()) {
    json = {{"targets", reloaded.targets},
            {"forms", reloaded.forms},
            {"added", reloaded.changes.added},
            {"changed", reloaded.changes.changed},
            {"removed", reloaded.changes.removed},
            {"targetChanges", name_changes_json(reloaded.target_changes)},
            {"pipelineChanges", name_changes_json(reloaded.pipeline_changes)},
            {"pluginChanges", plugin_changes_json(reloaded.plugin_changes)},
            {"digest", reloaded.digest},
            {"warnings", problems_json(reloaded.warnings)}};
  } else {
    json["error"] = {{"code", "invalid_registry"},
                     {"message", "the registry has mistakes; the one that was in use stays in use"},
                     {"problems", problems_json(reloaded.problems)}};
  }
  return http::json_response(reloaded.problems.empty() ? 200 : 422, dump(json));
}

}  // namespace

Json name_changes_json(const NameChanges& changes) {
  return {{"added", changes.added}, {"changed", changes.changed}, {"removed", changes.removed}};
}

std::vector<http::Route> admin_routes(FormPool& pool, Reload reload) {
  return {without_fields({.method = "POST",
                          .path = "/v1/admin/reload",
                          .least_role = http::Role::operator_,
                          .handle = [&pool, reload = std::move(reload)](http::Request request, http::Reply reply) {
                            pool.ask(std::move(request), std::move(reply),
                                     [reload](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                                       answered(answer(reload(*session.forms, asked.principal.actor())));
                                     });
                          }})};
}

}  // namespace waybill
