// Reading and writing the surface of pipelines.
#include "api/pipeline_json.h"

#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/duration.h"
#include "base/hex.h"
#include "base/random.h"

namespace waybill {
namespace {

constexpr std::string_view kStateChanged = "state_changed";

Result<std::string> read_metadata(const JsonObject& object) {
  const auto raw = object.raw("metadata");
  if (raw.empty()) return std::string("{}");
  if (raw.front() != '{') return fail(Error::Kind::invalid, "metadata must be an object");
  TRY(check_names("metadata", raw));
  return std::string(raw);
}

// Submissions that follow others have such ids.
Result<std::string> read_id(const JsonObject& object) {
  auto id = read_reference(object, "submissionId");
  TRY(id);
  if (id->find('~') != std::string::npos)
    return fail(Error::Kind::invalid, "submissionId must not have a ~: ids of submissions that a pipeline begins have it");
  return id;
}

Json delivery_json(const PipelineDeliveryView& d, const PublicIds& ids) {
  Json json{{"deliveryId", ids.text(d.delivery.value)}, {"state", d.state}, {"target", d.target}};
  append_delivery(json, d);
  json["failures"] = Json::array();
  for (const auto& one : d.failures)
    json["failures"].push_back({{"attempt", one.number},
                                {"startedAt", format_rfc3339(one.started)},
                                {"outcome", one.outcome},
                                {"reason", text_or_null(one.reason)},
                                {"error", text_or_null(one.error)},
                                {"code", one.code}});
  return json;
}

// What happened to the submission as a whole; what its deliveries came to stands with them.
bool is_shown(std::string_view action) {
  return action == kStateChanged || action == "stage_skipped" || action == "stage_given_up" || action == "not_delivered";
}

Result<std::string> read_comment(const JsonObject& object) {
  if (!object.has("comment")) return std::string();
  auto comment = object.string("comment");
  TRY(comment);
  constexpr std::size_t kMaxComment = 4096;
  if (comment->size() > kMaxComment) return fail(Error::Kind::invalid, "comment must not be longer than 4096 bytes");
  if (comment->find('\0') != std::string::npos) return fail(Error::Kind::invalid, "comment must not have NUL characters");
  return comment;
}

Result<PipelineRepair::Kind> read_kind(const JsonObject& object) {
  using Kind = PipelineRepair::Kind;
  auto word = object.string("do");
  TRY(word);
  for (const auto kind : {Kind::rerun, Kind::skip, Kind::end})
    if (*word == to_string(kind)) return kind;
  return fail(Error::Kind::invalid, "do must be rerun, skip or end");
}

Result<RepairRequest> repair_of(const JsonObject& object) {
  using Kind = PipelineRepair::Kind;
  auto kind = read_kind(object);
  TRY(kind);
  RepairRequest request{.order = {.kind = *kind}};
  auto& order = request.order;
  for (const auto& [field, into] :
       {std::pair{"from", &order.from}, std::pair{"state", &order.state}, std::pair{"action", &order.action}}) {
    if (!object.has(field)) continue;
    auto text = read_reference(object, field);
    TRY(text);
    *into = std::move(*text);
  }
  for (const auto* field : {"input", "result"})
    if (object.has(field)) TRY(check_names(field, object.raw(field)));
  if (object.has("input")) order.input = std::string(object.raw("input"));
  if (object.has("result")) order.result = std::string(object.raw("result"));
  if (*kind == Kind::skip && !order.state.empty()) return fail(Error::Kind::invalid, "state is for rerun and end");
  if (*kind != Kind::rerun && (order.input || !order.action.empty()))
    return fail(Error::Kind::invalid, "input and action are for rerun");
  if (!order.action.empty() && !order.input) return fail(Error::Kind::invalid, "action says whose input it is: input is missing");
  if (*kind != Kind::skip && object.has("result")) return fail(Error::Kind::invalid, "result is for skip");
  auto comment = read_comment(object);
  TRY(comment);
  order.comment = std::move(*comment);
  auto dry_run = read_flag(object, "dryRun");
  TRY(dry_run);
  order.dry_run = *dry_run;
  return request;
}

}  // namespace

Result<PipelineRequest> read_pipeline_request(std::string_view body) {
  const auto object = JsonObject::parse(body, {"submissionId", "payload", "metadata", "notBefore", "expiresAt"});
  TRY(object);
  auto id = read_id(*object);
  TRY(id);
  if (!object->has("payload")) return fail(Error::Kind::invalid, "payload is missing");
  TRY(check_names("payload", object->raw("payload")));
  auto metadata = read_metadata(*object);
  TRY(metadata);
  auto terms = read_terms(*object);
  TRY(terms);
  return PipelineRequest{std::move(*id), std::string(object->raw("payload")), std::move(*metadata), std::move(*terms)};
}

Result<PipelineRequest> read_forms_request(std::string_view body) {
  const auto object = JsonObject::parse(body, {"submissionId", "answers", "metadata", "notBefore", "expiresAt"});
  TRY(object);
  if (!object->has("answers")) return fail(Error::Kind::invalid, "answers is missing");
  TRY(check_names("answers", object->raw("answers")));
  auto metadata = read_metadata(*object);
  TRY(metadata);
  auto terms = read_terms(*object);
  TRY(terms);
  PipelineRequest request{.metadata = std::move(*metadata), .terms = std::move(*terms)};
  if (object->has("submissionId")) {
    auto id = read_id(*object);
    TRY(id);
    request.submission_id = std::move(*id);
  } else {
    request.submission_id = "form-" + to_hex(random_bytes(16));
  }
  request.payload = "{\"answers\":" + std::string(object->raw("answers")) + ",\"metadata\":" + request.metadata + "}";
  return request;
}

Result<ManualTransition> read_transition(std::string_view body) {
  const auto object = JsonObject::parse(body, {"to", "trigger", "comment", "from"});
  TRY(object);
  ManualTransition wanted;
  for (const auto& [field, into] : {std::pair{"to", &wanted.to}, std::pair{"trigger", &wanted.trigger}}) {
    auto text = read_reference(*object, field);
    TRY(text);
    *into = std::move(*text);
  }
  if (object->has("from")) {
    auto from = read_reference(*object, "from");
    TRY(from);
    wanted.from = std::move(*from);
  }
  auto comment = read_comment(*object);
  TRY(comment);
  wanted.comment = std::move(*comment);
  return wanted;
}

Result<RepairRequest> read_repair(std::string_view body) {
  const auto object = JsonObject::parse(body, {"do", "from", "state", "action", "input", "result", "comment", "dryRun"});
  TRY(object);
  return repair_of(*object);
}

Result<RepairRequest> read_repairs(std::string_view body) {
  const auto object = JsonObject::parse(
      body, {"do", "from", "state", "action", "input", "result", "comment", "dryRun", "reference", "reason", "all"});
  TRY(object);
  auto request = repair_of(*object);
  TRY(request);
  auto& filter = request->filter;
  if (!request->order.from.empty()) filter.state = request->order.from;
  for (const auto& [field, into] : {std::pair{"reference", &filter.reference}, std::pair{"reason", &filter.reason}}) {
    if (!object->has(field)) continue;
    auto text = read_reference(*object, field);
    TRY(text);
    *into = std::move(*text);
  }
  auto all = read_flag(*object, "all");
  TRY(all);
  if (*all == (filter.state || filter.reference || filter.reason))
    return fail(Error::Kind::invalid,
                "say which submissions are meant: from, reference, reason, or \"all\": true and none of these");
  return request;
}

std::string repairs_json(const Repairs& repairs, bool dry_run) {
  Json items = Json::array();
  for (const auto& item : repairs.items)
    items.push_back(
        {{"submissionId", item.client_ref}, {"state", text_or_null(item.state)}, {"refused", text_or_null(item.refused)}});
  return dump({{"dryRun", dry_run}, {"count", repairs.count}, {"more", repairs.more}, {"items", std::move(items)}});
}

std::string pipeline_view_json(const PipelineView& view, const PublicIds& ids) {
  Json json{{"submissionId", view.submission.client_ref},
            {"pipeline", view.submission.target},
            {"version", view.version},
            {"state", view.submission.state},
            {"results", Json::object()},
            {"metadata", json_or_null(view.metadata)},
            {"payload", json_or_null(view.payload)},
            {"createdAt", format_rfc3339(view.submission.created)},
            {"endedAt", time_or_null(view.ended)},
            {"blockedAt", time_or_null(view.blocked)},
            {"decisions", Json::array()},
            {"deliveries", Json::array()},
            {"audit", Json::array()}};
  append_terms(json, view.submission.terms);
  for (const auto& [state, result] : view.results) json["results"][state] = json_or_null(result);
  for (const auto& one : view.decisions)
    json["decisions"].push_back({{"to", one.to}, {"trigger", one.trigger}, {"role", one.role}});
  for (const auto& delivery : view.deliveries) json["deliveries"].push_back(delivery_json(delivery, ids));
  for (const auto& event : view.audit)
    if (is_shown(event.action)) json["audit"].push_back(audit_json(event));
  return dump(json);
}

std::string stats_json(const std::vector<PipelineCount>& counts, const std::vector<PipelineStats>& stats) {
  Json all = Json::object();
  for (const auto& one : counts) {
    auto& pipeline = all[one.pipeline];
    pipeline["states"][one.state] = {{"submissions", one.count}, {"blocked", one.blocked}, {"isLowerBound", one.is_lower_bound}};
  }
  for (const auto& one : stats) {
    const auto& definition = one.definition->pipeline;
    auto& json = all[definition.name];
    if (!json.contains("states")) json["states"] = Json::object();
    json["receivedLastDay"] = one.shares.begun;
    json["receivedIsLowerBound"] = one.shares.is_lower_bound;
    for (const auto& metric : definition.metrics) {
      if (metric.kind != PipelineMetric::Kind::rate) continue;
      const auto share = one.shares.share_of(metric.state);
      json["rates"][metric.name] = share ? Json(*share) : Json(nullptr);
    }
    json["sla"] = Json::array();
    for (std::size_t i = 0; i < one.levels.size(); ++i) {
      const auto& level = definition.levels[i];
      const auto& found = one.levels[i];
      const auto share =
          found.through == 0 ? Json(nullptr) : Json(static_cast<double>(found.within) / static_cast<double>(found.through));
      json["sla"].push_back({{"name", level.name},
                             {"target", format_duration(level.target)},
                             {"p95", format_duration(level.p95)},
                             {"count", found.through},
                             {"shareWithin", share},
                             {"p95Ms", found.through == 0 ? Json(nullptr) : Json(found.p95_ms)},
                             {"isP95Met", found.through == 0 ? Json(nullptr) : Json(found.p95_ms <= level.p95.count())},
                             {"now", {{"open", found.open}, {"oldestMs", found.oldest_open_ms}}}});
    }
  }
  return dump(Json{{"pipelines", std::move(all)}});
}

Json pipeline_item(const PipelineListItem& item) {
  return {{"submissionId", item.client_ref},
          {"pipeline", item.pipeline},
          {"version", item.version},
          {"state", item.state},
          {"metadata", json_or_null(item.metadata)},
          {"createdAt", format_rfc3339(item.created)},
          {"endedAt", time_or_null(item.ended)},
          {"blockedAt", time_or_null(item.blocked)}};
}

std::string pipeline_list_json(const PipelinePage& page, const PublicIds& ids) {
  Json json{{"items", Json::array()}, {"next", nullptr}};
  for (const auto& item : page.items) json["items"].push_back(pipeline_item(item));
  if (page.next) json["next"] = cursor_text({{}, DeliveryId{page.next->value}}, ids);  // they are in the order of their ids
  return dump(json);
}

}  // namespace waybill
