// Reading and writing the surface of targets.
#include "api/target_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/json_object.h"
#include "api/query.h"
#include "domain/organisation.h"
#include "store/operations/queue_health.h"

namespace waybill {
namespace {

Result<std::string> org_in(const JsonObject& object) {
  return object.has("org") ? object.string("org") : Result<std::string>(std::string(kDefaultOrgName));
}

Json json_of(const std::optional<TargetPause>& pause) {
  if (!pause) return nullptr;
  return {{"since", format_rfc3339(pause->since)}, {"actor", pause->actor}, {"reason", pause->reason}};
}

Json ended_json(const std::optional<TargetOutage>& outage) {
  if (!outage) return nullptr;
  return {{"since", format_rfc3339(outage->since)}, {"reason", outage->reason}};
}

}  // namespace

Result<StoppedQuery> read_stopped_query(const http::Request& request) {
  StoppedQuery query;
  query.after = request.query_value("cursor").value_or("");
  if (request.query_value("cursor") && query.after.empty())
    return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  const auto most = limit_in(request, query.most, kMaxStoppedListed);
  TRY(most);
  query.most = *most;
  return query;
}

Result<PauseWish> read_pause(std::string_view body) {
  const auto object = JsonObject::parse(body, {"reason", "org"});
  TRY(object);
  auto org = org_in(*object);
  TRY(org);
  auto reason = object->string("reason");
  TRY(reason);
  return PauseWish{std::move(*org), std::move(*reason)};
}

Result<std::string> read_resume(std::string_view body) {
  if (body.empty()) return std::string(kDefaultOrgName);
  const auto object = JsonObject::parse(body, {"org"});
  TRY(object);
  return org_in(*object);
}

bool has_target(const Registry& registry, std::string_view target) {
  constexpr std::string_view kSender = "sender:";
  if (registry.find(target) != nullptr) return true;
  if (!target.starts_with(kSender)) return false;
  const auto type = target.substr(kSender.size());
  return std::any_of(registry.forms().begin(), registry.forms().end(), [&](const Form& form) {
    return std::any_of(form.actions.begin(), form.actions.end(), [&](const auto& action) { return action.action_type == type; });
  });
}

Json paused_json(const TargetName& name, const TargetPause& pause) {
  return {{"org", name.org}, {"target", name.target}, {"pause", json_of(pause)}};
}

Json resumed_json(const TargetName& name, const ResumedTarget& resumed) {
  return {{"org", name.org},
          {"target", name.target},
          {"resumed", true},
          {"pause", json_of(resumed.pause)},
          {"outage", ended_json(resumed.outage)},
          {"findingsOfHosts", resumed.findings},
          {"madeDue", resumed.made_due}};
}

Json stopped_json(const StoppedTargets& page) {
  Json items = Json::array();
  for (const auto& one : page.items) {
    Json outage = ended_json(one.outage);
    if (one.outage) outage["cooldownUntil"] = time_or_null(one.outage->cooldown_until);
    items.push_back({{"org", one.name.org},
                     {"target", one.name.target},
                     {"pause", json_of(one.pause)},
                     {"outage", std::move(outage)},
                     {"waiting", one.waiting},
                     {"waitingIsLowerBound", one.waiting >= kMaxWaitingCounted}});
  }
  return {{"items", std::move(items)}, {"next", text_or_null(page.next)}};
}

}  // namespace waybill
