// Reading and writing the surface of notifications.
#include "api/notify_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/integer.h"
#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/json_reader.h"
#include "base/names.h"
#include "base/placeholder.h"
#include "base/uuid.h"
#include "domain/channel.h"
#include "domain/contract.h"

namespace waybill {
namespace {

constexpr std::string_view kRuleStatuses[] = {"draft", "active", "disabled"};
constexpr std::string_view kDeliveryStatuses[] = {"pending", "processing", "succeeded", "failed", "cancelled"};
constexpr std::size_t kMaxName = 255;  // characters

auto bad(std::string what) { return fail(Error::Kind::invalid, std::move(what)); }

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Result<std::string> read_name(const JsonObject& object) {
  auto name = object.string("name");
  TRY(name);
  if (name->empty() || characters(*name) > kMaxName) return bad("name must have 1 to 255 characters");
  if (has_control_character(*name)) return bad("name must not hold control characters");
  return name;
}

Result<std::string> read_status(const JsonObject& object) {
  auto status = object.string("status");
  TRY(status);
  if (!is_one_of(*status, kRuleStatuses)) return bad("status must be draft, active or disabled");
  return status;
}

// As it is stored: compact, with what the plugin and the address guard have no objection to.
Result<std::string> read_config(std::string_view raw, const std::string& type, const ActionTypes& types,
                                const CheckUrl& check_url) {
  const auto known = JsonObject::parse(raw, {"url", "headers", "signing", "timestampHeader", "signatureHeader", kRateField});
  if (!known) return bad("config: " + known.error().what);
  const auto url = known->string("url");
  if (!url) return bad("config: " + url.error().what);
  if (const auto checked = check_url(*url); !checked) return bad("config.url: " + checked.error().what);
  const auto read = read_json(raw);
  if (!read) return bad("config: " + read.error().what);
  const auto& json = *read;
  if (const auto headers = json.find("headers"); headers != json.end() && headers->is_object())
    for (const auto& [name, value] : headers->items())
      for (const auto opens : {kSecretOpens, kOAuth2Opens})
        if (value.is_string() && value.get_ref<const std::string&>().find(opens) != std::string::npos)
          return bad("config.headers: \"" + name + "\" must not name a secret");
  auto destination = json;
  if (const auto rate = json.find(kRateField); rate != json.end()) {
    if (!rate->is_string() || !rate_from(rate->get_ref<const std::string&>()))
      return bad("config.rate must be a count from 1 to " + std::to_string(kMaxRateCount) + " per s, m or h, such as \"10/s\"");
    destination.erase(kRateField);
  }
  if (const auto problems = types.check_destination(type, dump(destination)); !problems.empty())
    return bad("config." + problems.front().field + ": " + problems.front().message);
  auto compact = dump(json);
  if (compact.size() > kMaxChannelConfig) return bad("config must not be larger than 64 KiB");
  return compact;
}

Json channel_of(const ChannelView& channel) {
  return {{"id", channel.id},
          {"name", channel.name},
          {"type", channel.type},
          {"config", json_or_null(channel.config)},
          {"status", channel.disabled ? "disabled" : "active"},
          {"disabledAt", time_or_null(channel.disabled)},
          {"disabledReason", text_or_null(channel.disabled_reason)},
          {"hasSecondarySecret", channel.has_secondary},
          {"createdAt", format_rfc3339(channel.created)},
          {"updatedAt", format_rfc3339(channel.updated)}};
}

Json rule_of(const RuleView& rule) {
  return {{"id", rule.id},
          {"name", rule.name},
          {"status", rule.status},
          {"createdAt", format_rfc3339(rule.created)},
          {"updatedAt", format_rfc3339(rule.updated)}};
}

Json notification_of(const NotificationView& view, const PublicIds& ids) {
  return {{"id", ids.text(view.id.value)},
          {"rule_id", text_or_null(view.rule)},
          {"channel_id", view.channel},
          {"status", view.status},
          {"attempt_count", view.attempts},
          {"created_at", format_rfc3339(view.created)},
          {"send_after", format_rfc3339(view.send_after)},
          {"delivered_at", time_or_null(view.delivered)}};
}

template <class All, class One>
Json list_of(const All& all, One one) {
  Json items = Json::array();
  for (const auto& item : all) items.push_back(one(item));
  return {{"items", std::move(items)}};
}

}  // namespace

Result<NewChannel> read_new_channel(std::string_view body, const ActionTypes& types, const CheckUrl& check_url) {
  const auto object = JsonObject::parse(body, {"name", "type", "config"});
  TRY(object);
  auto name = read_name(*object);
  TRY(name);
  auto type = object->string("type");
  TRY(type);
  if (types.find(*type) == nullptr) return bad(no_channel_type(*type));
  if (!object->has("config")) return bad("config is missing");
  auto config = read_config(object->raw("config"), *type, types, check_url);
  TRY(config);
  return NewChannel{std::move(*name), std::move(*type), std::move(*config)};
}

Result<ChannelChange> read_channel_change(std::string_view body, const std::string& type, const ActionTypes& types,
                                          const CheckUrl& check_url) {
  const auto object = JsonObject::parse(body, {"name", "config", "status"});
  TRY(object);
  ChannelChange change;
  if (object->has("name")) {
    auto name = read_name(*object);
    TRY(name);
    change.name = std::move(*name);
  }
  if (object->has("config")) {
    auto config = read_config(object->raw("config"), type, types, check_url);
    TRY(config);
    change.config = std::move(*config);
  }
  if (object->has("status")) {
    if (object->raw("status") != "\"active\"") return bad("status can only be set to active: that enables a disabled channel");
    change.enable = true;
  }
  return change;
}

Result<NewRule> read_new_rule(std::string_view body) {
  const auto object = JsonObject::parse(body, {"name", "status"});
  TRY(object);
  auto name = read_name(*object);
  TRY(name);
  if (!object->has("status")) return NewRule{std::move(*name), "active"};
  auto status = read_status(*object);
  TRY(status);
  return NewRule{std::move(*name), std::move(*status)};
}

Result<RuleChange> read_rule_change(std::string_view body) {
  const auto object = JsonObject::parse(body, {"name", "status"});
  TRY(object);
  RuleChange change;
  if (object->has("name")) {
    auto name = read_name(*object);
    TRY(name);
    change.name = std::move(*name);
  }
  if (object->has("status")) {
    auto status = read_status(*object);
    TRY(status);
    change.status = std::move(*status);
  }
  return change;
}

Result<NewEvent> read_event(std::string_view body, const std::string& rule) {
  const auto object = JsonObject::parse(body, {"eventId", "snapshot", "suppressDelivery"});
  TRY(object);
  auto id = read_reference(*object, "eventId");
  TRY(id);
  if (!object->has("snapshot")) return bad("snapshot is missing");
  const auto suppress = read_flag(*object, "suppressDelivery");
  TRY(suppress);
  return NewEvent{rule, std::move(*id), std::string(object->raw("snapshot")), *suppress};
}

Result<RecoveryWindow> read_recovery(std::string_view body) {
  const auto object = JsonObject::parse(body, {"since", "until", "dryRun"});
  TRY(object);
  RecoveryWindow window;
  for (const auto& [name, at] : {std::pair{"since", &window.since}, std::pair{"until", &window.until}}) {
    const auto text = object->string(name);
    TRY(text);
    const auto time = read_time(name, *text);
    TRY(time);
    *at = *time;
  }
  if (window.until <= window.since) return bad("until must be later than since");
  const auto dry_run = read_flag(*object, "dryRun");
  TRY(dry_run);
  window.dry_run = *dry_run;
  return window;
}

Result<NotificationQuery> read_notification_query(const http::Request& request, const PublicIds& ids) {
  NotificationQuery query;
  auto status = word_in(request, "status", kDeliveryStatuses);
  TRY(status);
  query.filter = {request.query_value("rule_id"), request.query_value("channel_id"), std::move(*status)};
  for (const auto& [name, id] : {std::pair("rule_id", query.filter.rule), std::pair("channel_id", query.filter.channel)})
    if (id && !is_uuid(*id)) return bad(std::string(name) + " must be a UUID, as the API gave it");
  TRY(read_page(request, query, kMaxNotificationsListed, ids));
  return query;
}

ChannelView without_header_values(ChannelView channel) {
  Json config = json_or_null(channel.config);
  const auto headers = config.is_object() ? config.find("headers") : config.end();
  if (headers == config.end()) return channel;
  for (auto& value : *headers) value = "***";
  channel.config = dump(config);
  return channel;
}

// The moment and the id, such as 1790000000000000.0b9e....
Result<std::optional<RuleCursor>> read_rule_cursor(const http::Request& request) {
  const auto text = request.query_value("cursor");
  if (!text) return std::nullopt;
  const auto dot = text->find('.');
  const auto created = whole_number<std::int64_t>(std::string_view(*text).substr(0, dot));
  if (dot == std::string::npos || !created || *created < 0 || !is_uuid(text->substr(dot + 1)))
    return bad("cursor must be one that a page before gave as next");
  return RuleCursor{Timestamp{*created}, text->substr(dot + 1)};
}

std::string channel_json(const ChannelView& channel) { return dump(channel_of(channel)); }

std::string created_channel_json(const CreatedChannel& created) {
  Json json = channel_of(created.channel);
  json["signing_secret"] = created.secret.expose();
  return dump(json);
}

std::string channels_json(const std::vector<ChannelView>& channels) {
  Json list = list_of(channels, channel_of);
  list["next"] = channels.size() < kMaxChannelsListed ? Json(nullptr) : Json(channels.back().name);
  return dump(list);
}

std::string rule_json(const RuleView& rule) { return dump(rule_of(rule)); }
std::string rules_json(const std::vector<RuleView>& rules) {
  Json list = list_of(rules, rule_of);
  list["next"] = nullptr;
  if (rules.size() >= kMaxRulesListed) list["next"] = std::to_string(rules.back().created.micros) + '.' + rules.back().id;
  return dump(list);
}

std::string notification_page_json(const NotificationPage& page, const PublicIds& ids) {
  Json list = list_of(page.items, [&](const NotificationView& one) { return notification_of(one, ids); });
  list["next"] = page.next ? Json(cursor_text(*page.next, ids)) : Json(nullptr);
  return dump(list);
}

std::string notification_json(const NotificationDetail& detail, const PublicIds& ids) {
  Json json = notification_of(detail.view, ids);
  const auto& attempts = detail.attempts;
  json["last_attempted_at"] = attempts.empty() ? Json(nullptr) : Json(format_rfc3339(attempts.back().started));
  const auto failed =
      std::find_if(attempts.rbegin(), attempts.rend(), [](const AttemptView& one) { return one.outcome != "accepted"; });
  json["last_error"] =
      failed == attempts.rend() ? Json(nullptr) : text_or_null(failed->error.empty() ? failed->reason : failed->error);
  json["attempts"] = attempts_json(attempts);
  std::string text = dump(json);
  text.pop_back();  // the payload byte for byte, as it is sent
  return text + ",\"payload\":" + (detail.payload.empty() ? "null" : detail.payload) + "}";
}

}  // namespace waybill
