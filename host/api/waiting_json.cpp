// Reading and writing the surface of what waits.
#include "api/waiting_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/integer.h"
#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/json_object.h"
#include "api/query.h"
#include "domain/organisation.h"

namespace waybill {
namespace {

constexpr std::string_view kWaitingKinds[] = {"intent", "form", "pipeline", "notification", "alert"};
constexpr std::int64_t kOldest = 10LL * 365 * 24 * 3600;  // seconds

Result<std::optional<Seconds>> seconds_of(std::string_view field, std::string_view text) {
  if (text.empty()) return std::optional<Seconds>();
  const auto number = whole_number<std::int64_t>(text);
  if (!number || *number < 1 || *number > kOldest)
    return fail(Error::Kind::invalid, std::string(field) + " must be a whole number of seconds, from 1 on");
  return std::optional(Seconds(*number));
}

Json item_json(const WaitingDelivery& one, const PublicIds& ids) {
  return {{"id", ids.text(one.id.value)},
          {"kind", one.kind},
          {"reference", one.reference},
          {"target", one.target},
          {"actionType", one.action_type},
          {"actionOrder", one.action_order},
          {"createdAt", format_rfc3339(one.created)},
          {"dueAt", format_rfc3339(one.due)},
          {"attempts", one.history.attempt_count},
          {"mayHaveBeenSent", one.history.maybe_sent},
          {"lastError", text_or_null(one.last_error)}};
}

// What ending and rerouting have in common.
Result<WaitingWish> read_wish(const JsonObject& object, const PublicIds& ids) {
  WaitingWish wish;
  auto target = object.string("target");
  TRY(target);
  wish.order.filter.target = std::move(*target);
  if (object.has("org")) {
    auto org = object.string("org");
    TRY(org);
    wish.org = std::move(*org);
  }
  if (object.has("kind")) {
    const auto kind = object.string("kind");
    TRY(kind);
    TRY(set_waiting_kind(wish.order.filter, *kind));
  }
  const auto older = seconds_of("olderThanSeconds", object.raw("olderThanSeconds"));
  TRY(older);
  wish.order.filter.older_than = *older;
  const auto dry_run = read_flag(object, "dryRun");
  TRY(dry_run);
  wish.order.dry_run = *dry_run;
  if (!object.has("cursor")) return wish;
  const auto cursor = object.string("cursor");
  TRY(cursor);
  wish.order.after = delivery_cursor(*cursor, ids);
  if (!wish.order.after) return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  return wish;
}

}  // namespace

Result<void> set_waiting_kind(WaitingFilter& filter, const std::string& word) {
  if (std::find(std::begin(kWaitingKinds), std::end(kWaitingKinds), word) == std::end(kWaitingKinds))
    return fail(Error::Kind::invalid, "kind must be intent, form, pipeline, notification or alert");
  filter.kind = word;
  return {};
}

Result<WaitingQuery> read_waiting_query(const http::Request& request, const PublicIds& ids) {
  WaitingQuery query;
  query.org = given(request, "org");
  query.filter.target = given(request, "target").value_or("");
  if (const auto kind = request.query_value("kind")) TRY(set_waiting_kind(query.filter, *kind));
  if (const auto text = request.query_value("olderThanSeconds")) {
    const auto older = seconds_of("olderThanSeconds", text->empty() ? "-" : std::string_view(*text));
    TRY(older);
    query.filter.older_than = *older;
  }
  TRY(read_page(request, query, kMaxWaitingListed, ids));
  return query;
}

Result<WaitingWish> read_waiting_end(std::string_view body, const PublicIds& ids) {
  const auto object = JsonObject::parse(body, {"target", "org", "kind", "olderThanSeconds", "dryRun", "cursor", "reason"});
  TRY(object);
  auto wish = read_wish(*object, ids);
  TRY(wish);
  auto reason = object->string("reason");
  TRY(reason);
  wish->order.reason = std::move(*reason);
  return wish;
}

Result<WaitingWish> read_waiting_reroute(std::string_view body, const PublicIds& ids) {
  const auto object = JsonObject::parse(body, {"target", "org", "kind", "olderThanSeconds", "dryRun", "cursor", "to"});
  TRY(object);
  auto wish = read_wish(*object, ids);
  TRY(wish);
  auto to = object->string("to");
  TRY(to);
  wish->to = std::move(*to);
  return wish;
}

Result<RateWish> read_rate_wish(std::string_view body) {
  const auto object = JsonObject::parse(body, {"rate", "lastsSeconds", "org"});
  TRY(object);
  RateWish wish{.org = std::string(kDefaultOrgName), .rate = {}, .lasts = {}};
  if (object->has("org")) {
    auto org = object->string("org");
    TRY(org);
    wish.org = std::move(*org);
  }
  const auto text = object->string("rate");
  TRY(text);
  const auto rate = rate_from(*text);
  if (!rate) return fail(Error::Kind::invalid, "rate must be a text such as \"10/s\", \"600/m\" or \"5000/h\"");
  wish.rate = *rate;
  const auto lasts = seconds_of("lastsSeconds", object->raw("lastsSeconds"));
  TRY(lasts);
  wish.lasts = *lasts;
  return wish;
}

std::string waiting_json(const WaitingPage& page, const PublicIds& ids) {
  Json items = Json::array();
  for (const auto& one : page.items) items.push_back(item_json(one, ids));
  return dump({{"items", std::move(items)}, {"next", page.next ? Json(cursor_text(*page.next, ids)) : Json(nullptr)}});
}

std::string waiting_done_json(const WaitingDone& done, bool dry_run, const PublicIds& ids) {
  Json refused = Json::array();
  for (const auto& [one, why] : done.examples) {
    refused.push_back(item_json(one, ids));
    refused.back()["why"] = why;
  }
  return dump({{"dryRun", dry_run},
               {"count", done.count},
               {"mayHaveBeenSent", done.may_be_sent},
               {"takenByOthers", done.taken_by_others},
               {"refused", done.refused},
               {"examples", std::move(refused)},
               {"next", done.next ? Json(cursor_text(*done.next, ids)) : Json(nullptr)}});
}

Json rate_json(const TargetName& name, const RateOrder& order) {
  return {{"org", name.org},
          {"target", name.target},
          {"rate", rate_text(order.rate)},
          {"since", format_rfc3339(order.since)},
          {"until", time_or_null(order.until)},
          {"actor", order.actor}};
}

Json rates_json(const std::vector<TargetRate>& rates) {
  Json items = Json::array();
  for (const auto& one : rates) items.push_back(rate_json(one.name, one.order));
  return {{"items", std::move(items)}};
}

}  // namespace waybill
