// Reading and writing the surface of failed deliveries.
#include "api/failed_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/integer.h"
#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/json_reader.h"
#include "domain/channel.h"

namespace waybill {
namespace {

constexpr const char* kFailedFields[] = {"reference", "target", "kind",   "formId", "pipeline",
                                         "channel",   "reason", "status", "since",  "until"};
constexpr std::string_view kFailedKinds[] = {"intent", "form", "pipeline", "notification"};
constexpr std::string_view kFailedStatuses[] = {"rejected", "exhausted"};

tl::unexpected<Error> wrong(const std::string& message) { return fail(Error::Kind::invalid, message); }

template <std::size_t kCount>
Result<void> set_failed_word(std::string& into, std::string_view field, const std::string& text,
                             const std::string_view (&words)[kCount]) {
  if (std::find(std::begin(words), std::end(words), text) == std::end(words)) {
    std::string list;
    for (const auto word : words) list.append(list.empty() ? "" : ", ").append(word);
    return wrong(std::string(field) + " must be one of " + list);
  }
  into = text;
  return {};
}

Result<std::vector<DeliveryId>> read_failed_ids(std::string_view raw, const PublicIds& ids) {
  const auto list = read_sorted_json(std::string(raw), {});
  std::vector<DeliveryId> all;
  if (!list || !list->is_array() || list->size() > kMaxReplays)
    return wrong("ids must be a list of up to " + std::to_string(kMaxReplays) + " ids");
  for (const auto& one : *list) {
    const auto id = one.is_string() ? delivery_id(one.get<std::string>(), ids) : std::nullopt;
    if (!id) return wrong("ids must be those of failed deliveries, as texts");
    all.push_back(*id);
  }
  return all;
}

Json failed_json(const FailedDelivery& failed, const PublicIds& ids) {
  Json last = nullptr;
  if (failed.tried) {
    last = Json{{"startedAt", format_rfc3339(*failed.tried)}, {"outcome", failed.outcome}, {"error", text_or_null(failed.error)}};
    last["code"] = failed.code ? Json(*failed.code) : Json(nullptr);
  }
  Json json{{"id", ids.text(failed.id.value)}, {"kind", failed.kind}, {"reference", failed.reference}, {"target", failed.target}};
  json["formId"] = failed.kind == "form" ? Json(failed.belongs_to) : Json(nullptr);
  json["pipeline"] = failed.kind == "pipeline" ? Json(failed.belongs_to) : Json(nullptr);
  json["actionOrder"] = failed.action_order;
  json["actionType"] = failed.action_type;
  json["status"] = failed.status;
  json["reason"] = failed.reason;
  json["endedAt"] = format_rfc3339(failed.ended);
  json["attempts"] = failed.attempts;
  json["lastAttempt"] = std::move(last);
  json["sentAgain"] = failed.is_sent_again;
  return json;
}

}  // namespace

Result<void> set_failed_field(FailedFilter& filter, std::string_view field, const std::string& text) {
  if (field == "since" || field == "until") {
    const auto time = read_time(field, text);
    TRY(time);
    (field == "since" ? filter.since : filter.until) = *time;
    return {};
  }
  if (field == "kind") return set_failed_word(filter.kind, field, text, kFailedKinds);
  if (field == "status") return set_failed_word(filter.status, field, text, kFailedStatuses);
  if (auto fault = reference_fault(field, text); !fault.empty()) return wrong(fault);
  if (field == "channel") {
    filter.target = channel_target(text);
  } else if (field == "formId" || field == "pipeline") {
    filter.kind = field == "formId" ? "form" : "pipeline";
    filter.belongs_to = text;
  } else {
    (field == "reference" ? filter.reference : field == "target" ? filter.target : filter.reason) = text;
  }
  return {};
}

Result<FailedQuery> read_failed_query(const http::Request& request, const PublicIds& ids) {
  FailedQuery query;
  for (const auto* field : kFailedFields)
    if (const auto text = request.query_value(field)) TRY(set_failed_field(query.filter, field, *text));
  TRY(read_page(request, query, kMaxFailedListed, ids));
  return query;
}

Result<ResendOrder> read_resend(std::string_view body, const PublicIds& ids) {
  const auto object =
      JsonObject::parse(body, {"reference", "target", "kind", "formId", "pipeline", "channel", "reason", "status", "since",
                               "until", "ids", "dryRun", "includeRejected", "includeMaybeSent", "rate", "cursor"});
  TRY(object);
  ResendOrder order;
  for (const auto* field : kFailedFields) {
    if (!object->has(field)) continue;
    const auto text = object->string(field);
    TRY(text);
    TRY(set_failed_field(order.filter, field, *text));
  }
  if (object->has("ids")) {
    auto wanted = read_failed_ids(object->raw("ids"), ids);
    TRY(wanted);
    order.filter.ids = std::move(*wanted);
  }
  if (!order.filter.any()) return wrong("say which failed deliveries are meant: ids, or at least one filter");
  for (const auto& [field, into] : {std::pair{"dryRun", &order.dry_run},
                                    {"includeRejected", &order.include_rejected},
                                    {"includeMaybeSent", &order.include_maybe_sent}}) {
    const auto flag = read_flag(*object, field);
    TRY(flag);
    *into = *flag;
  }
  if (object->has("cursor")) {
    const auto text = object->string("cursor");
    TRY(text);
    order.after = delivery_cursor(*text, ids);
    if (!order.after) return wrong("cursor must be the next of an earlier answer");
  }
  if (!object->has("rate")) return order;
  const auto rate = whole_number<std::uint32_t>(object->raw("rate"));
  if (!rate || *rate < 1 || *rate > kMaxResendRate)
    return wrong("rate must be a whole number from 1 to " + std::to_string(kMaxResendRate) + ": deliveries a second");
  order.rate = *rate;
  return order;
}

std::string failed_page_json(const FailedPage& page, const PublicIds& ids) {
  Json items = Json::array();
  for (const auto& failed : page.items) items.push_back(failed_json(failed, ids));
  Json next = nullptr;
  if (page.next) next = cursor_text(*page.next, ids);
  return dump({{"items", std::move(items)}, {"next", std::move(next)}});
}

}  // namespace waybill
