// Handling of notifications, from the parsed request to the reply.
#include "api/notify_routes.h"

#include "api/error_reply.h"
#include "api/json_envelope.h"
#include "api/notification_reasons.h"
#include "api/query.h"
#include "base/json_writer.h"
#include "store/notifications/notification_standing.h"

namespace waybill {
namespace {

using http::Request;
using http::Response;
using http::Role;

constexpr Millis kTestTime{15'000};

// What a request has to say, apart from its body.
struct NotifyCall {
  OrgId org;
  std::string rule, channel, delivery;
  std::string actor;
  Role role = Role::none;

  // A channel as the caller may see it: what its headers say may be a secret of the receiver's.
  ChannelView visible(ChannelView view) const { return role >= Role::admin ? view : without_header_values(std::move(view)); }
  std::vector<ChannelView> visible(std::vector<ChannelView> views) const {
    for (auto& one : views) one = visible(std::move(one));
    return views;
  }
};

NotifyCall call_of(const Request& request) {
  const auto given = [&](std::string_view name) {
    const auto at = request.parameters.find(name);
    return at == request.parameters.end() ? std::string() : at->second;
  };
  return {request.principal.org,     given("rule"),         given("channel"), given("delivery"),
          request.principal.actor(), request.principal.role};
}

Response no_content() { return {.status = 204, .content_type = "", .body = "", .headers = {}}; }

class NotifyRoutes {
 public:
  explicit NotifyRoutes(NotifyParts parts) : parts_(std::move(parts)) {}

  void add_channel(Request request, http::Reply reply) const {
    if (!parts_.has_key) return reply(no_key());
    auto channel = read_new_channel(request.body, parts_.types, parts_.check_url);
    if (!channel) return reply(http::invalid_request(channel.error().what));
    ask(request, std::move(reply), [channel = std::move(*channel)](NotifyStore& store, const NotifyCall& call) {
      return store.add_channel(call.org, channel).map([](const auto& made) { return json(201, created_channel_json(made)); });
    });
  }

  void list_channels(Request request, http::Reply reply) const {
    list_of_channels(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call, const auto& after) {
      return store.channels(call.org, after, kMaxChannelsListed);
    });
  }

  void show_channel(Request request, http::Reply reply) const {
    ask(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call) {
      return store.channel(call.org, call.channel).map([&](const auto& one) {
        return json(200, channel_json(call.visible(one)));
      });
    });
  }

  void change_channel(Request request, http::Reply reply) const {
    ask(request, std::move(reply), [this, body = request.body](NotifyStore& store, const NotifyCall& call) -> Result<Response> {
      const auto former = store.channel(call.org, call.channel);
      TRY(former);
      const auto change = read_channel_change(body, former->type, parts_.types, parts_.check_url);
      TRY(change);
      return parts_.intake.change_channel(store, call.org, call.channel, *change).map([](const auto& one) {
        return json(200, channel_json(one));
      });
    });
  }

  void delete_channel(Request request, http::Reply reply) const {
    ask(request, std::move(reply), [this](NotifyStore& store, const NotifyCall& call) {
      return parts_.intake.delete_channel(store, call.org, call.channel).map(no_content);
    });
  }

  void rotate_secret(Request request, http::Reply reply) const {
    if (!parts_.has_key) return reply(no_key());
    ask(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call) {
      return store.rotate_secret(call.org, call.channel).map([](const auto& made) {
        return json(200, created_channel_json(made));
      });
    });
  }

  void clear_secondary(Request request, http::Reply reply) const {
    ask(request, std::move(reply),
        [](NotifyStore& store, const NotifyCall& call) { return store.clear_secondary(call.org, call.channel).map(no_content); });
  }

  void recover(Request request, http::Reply reply) const {
    const auto window = read_recovery(request.body);
    if (!window) return reply(http::invalid_request(window.error().what));
    ask(request, std::move(reply), [this, window = *window](NotifyStore& store, const NotifyCall& call) {
      return parts_.intake.recover(store, call.org, call.channel, window, call.actor).map([&](const Recovery& recovery) {
        if (!window.dry_run && recovery.failed + recovery.waiting > 0)
          parts_.log.info(
              "notification.recovered",
              {{"channel", call.channel}, {"count", recovery.failed}, {"waiting", recovery.waiting}, {"actor", call.actor}});
        return json(window.dry_run ? 200 : 202, std::string("{\"dryRun\":") + (window.dry_run ? "true" : "false") +
                                                    ",\"count\":" + std::to_string(recovery.failed) +
                                                    ",\"more\":" + (recovery.more ? "true" : "false") + "}");
      });
    });
  }

  // Answers with the delivery once its attempt has ended, or after a while with what is known by then. What waits for the channel
  // follows a test that got through, and only that: a failure would use up its attempts.
  void test(Request request, http::Reply reply) const {
    if (!parts_.waiters.has_room()) return reply(overload_response());
    parts_.pool.ask(std::move(request), std::move(reply), [this](auto& store, const Request& asked, const http::Reply& answered) {
      const auto call = call_of(asked);
      const auto id = parts_.intake.test(*store, call.org, call.channel);
      if (!id) return answered(error_reply(id.error(), parts_.log, "notify.not_carried_out"));
      Request later = asked;
      later.body.clear();
      parts_.waiters.add(SubmissionId{id->value}, kTestTime,
                         [this, later = std::move(later), answered, id = *id] { answer_test(later, answered, id); });
    });
  }

  void add_rule(Request request, http::Reply reply) const {
    auto rule = read_new_rule(request.body);
    if (!rule) return reply(http::invalid_request(rule.error().what));
    ask(request, std::move(reply), [rule = std::move(*rule)](NotifyStore& store, const NotifyCall& call) {
      return store.add_rule(call.org, rule.name, rule.status).map([](const auto& made) { return json(201, rule_json(made)); });
    });
  }

  void list_rules(Request request, http::Reply reply) const {
    auto after = read_rule_cursor(request);
    if (!after) return reply(http::invalid_request(after.error().what));
    ask(request, std::move(reply), [after = std::move(*after)](NotifyStore& store, const NotifyCall& call) {
      return store.rules(call.org, after, kMaxRulesListed).map([](const auto& all) { return json(200, rules_json(all)); });
    });
  }

  void show_rule(Request request, http::Reply reply) const {
    ask(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call) {
      return store.rule(call.org, call.rule).map([](const auto& one) { return json(200, rule_json(one)); });
    });
  }

  void change_rule(Request request, http::Reply reply) const {
    auto change = read_rule_change(request.body);
    if (!change) return reply(http::invalid_request(change.error().what));
    ask(request, std::move(reply), [change = std::move(*change)](NotifyStore& store, const NotifyCall& call) {
      return store.change_rule(call.org, call.rule, change.name, change.status).map([](const auto& one) {
        return json(200, rule_json(one));
      });
    });
  }

  void delete_rule(Request request, http::Reply reply) const {
    ask(request, std::move(reply),
        [](NotifyStore& store, const NotifyCall& call) { return store.delete_rule(call.org, call.rule).map(no_content); });
  }

  void bound(Request request, http::Reply reply) const {
    list_of_channels(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call, const auto& after) {
      return store.bound(call.org, call.rule, after, kMaxChannelsListed);
    });
  }

  void bind(Request request, http::Reply reply) const {
    ask(request, std::move(reply),
        [](NotifyStore& store, const NotifyCall& call) { return store.bind(call.org, call.rule, call.channel).map(no_content); });
  }

  void unbind(Request request, http::Reply reply) const {
    ask(request, std::move(reply), [](NotifyStore& store, const NotifyCall& call) {
      return store.unbind(call.org, call.rule, call.channel).map(no_content);
    });
  }

  void add_event(Request request, http::Reply reply) const {
    auto event = read_event(request.body, request.parameters.at("rule"));
    if (!event) return reply(http::invalid_request(event.error().what));
    const auto taking = take_in(parts_.tracer, request.trace);
    event->trace = trace_of(taking);
    ask(request, std::move(reply),
        [this, taking, event = std::move(*event)](NotifyStore& store, const NotifyCall& call) -> Result<Response> {
          const auto added = parts_.intake.add(store, call.org, event);
          if (added && parts_.tracer != nullptr)
            parts_.tracer->stored(taking,
                                  {.kind = "event", .reference = event.event_id, .target = "channels", .is_new = added->is_new});
          if (!added && added.error().kind == Error::Kind::conflict)
            return http::error_response(409, "idempotency_conflict", added.error().what);
          return added.map([&](const EventOutcome& outcome) {
            return json(202, "{\"eventId\":" + json_string(event.event_id) + ",\"channels\":" + std::to_string(outcome.channels) +
                                 ",\"duplicate\":" + (outcome.is_new ? "false" : "true") + "}");
          });
        });
  }

  void list(Request request, http::Reply reply) const {
    auto query = read_notification_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    ask(request, std::move(reply), [this, query = std::move(*query)](NotifyStore& store, const NotifyCall& call) {
      return store.notifications(call.org, query.filter, query.after, query.most).map([&](const auto& page) {
        return json(200, notification_page_json(page, parts_.ids));
      });
    });
  }

  void show(Request request, http::Reply reply) const {
    const auto id = delivery_id(request.parameters.at("delivery"), parts_.ids);
    if (!id) return reply(missing(request));
    answer_with(request, std::move(reply), *id);
  }

  void explain(Request request, http::Reply reply) const {
    const auto id = delivery_id(request.parameters.at("delivery"), parts_.ids);
    if (!id) return reply(missing(request));
    ask(request, std::move(reply), [this, id = *id](NotifyStore& store, const NotifyCall& call) {
      return store.standing(call.org, id).map([&](const NotificationStanding& standing) {
        const bool is_sent = parts_.types.find(standing.channel_type) != nullptr;
        return json(200, explanation_json(standing,
                                          why_notification(standing, {.per_org = parts_.per_org,
                                                                      .per_channel = parts_.per_channel,
                                                                      .not_sent = is_sent ? "" : "no plugin",
                                                                      .audience = Audience::organisation}),
                                          parts_.ids));
      });
    });
  }

  void replay(Request request, http::Reply reply) const {
    const auto id = delivery_id(request.parameters.at("delivery"), parts_.ids);
    if (!id) return reply(missing(request));
    ask(request, std::move(reply), [this, id = *id](NotifyStore& store, const NotifyCall& call) {
      return parts_.intake.replay(store, call.org, id, call.actor).map([&](NotificationReplay outcome) {
        return replayed(outcome, id, call.actor);
      });
    });
  }

 private:
  using Act = std::function<Result<Response>(NotifyStore&, const NotifyCall&)>;

  static Response json(int status, std::string body) { return http::json_response(status, std::move(body)); }
  static Response no_key() {
    return http::error_response(503, "unavailable", "channels need a master key, and this installation has none (notify.key)");
  }
  static Response missing(const Request& request) {
    return http::error_response(404, "not_found", "there is no delivery " + request.parameters.at("delivery"));
  }

  // A page of channels in the order of their names. `read` takes the name behind which it begins.
  template <class Read>
  void list_of_channels(const Request& request, http::Reply reply, Read read) const {
    const auto after = given(request, "after");
    ask(request, std::move(reply), [after, read](NotifyStore& store, const NotifyCall& call) {
      return read(store, call, after).map([&](const auto& all) { return json(200, channels_json(call.visible(all))); });
    });
  }

  void answer_with(const Request& request, http::Reply reply, DeliveryId id) const {
    ask(request, std::move(reply), [this, id](NotifyStore& store, const NotifyCall& call) {
      return store.notification(call.org, id).map([&](const auto& detail) {
        return json(200, notification_json(detail, parts_.ids));
      });
    });
  }

  void answer_test(const Request& request, http::Reply reply, DeliveryId id) const {
    ask(request, std::move(reply), [this, id](NotifyStore& store, const NotifyCall& call) -> Result<Response> {
      const auto detail = store.notification(call.org, id);
      TRY(detail);
      if (detail->view.status == "succeeded") TRY(parts_.intake.wake(store, call.org, call.channel));
      return json(200, notification_json(*detail, parts_.ids));
    });
  }

  void ask(const Request& request, http::Reply reply, Act act) const {
    parts_.pool.ask(request, std::move(reply),
                    [this, act = std::move(act)](auto& store, const Request& asked, const http::Reply& answered) {
                      const auto answer = act(*store, call_of(asked));
                      if (!answer && answer.error().kind == Error::Kind::not_found && asked.parameters.contains("delivery"))
                        return answered(missing(asked));  // by its id as the client gave it
                      answered(answer ? *answer : error_reply(answer.error(), parts_.log, "notify.not_carried_out"));
                    });
  }

  Response replayed(NotificationReplay outcome, DeliveryId id, const std::string& actor) const {
    switch (outcome) {
      case NotificationReplay::under_way:
        return http::error_response(409, "conflict", "this delivery has not ended yet");
      case NotificationReplay::channel_off:
        return http::error_response(409, "conflict", "its channel is deleted or disabled");
      case NotificationReplay::over_limit: {
        auto response = http::error_response(429, "rate_limited", "an organisation may replay 10 deliveries in an hour");
        response.headers.emplace_back("Retry-After", "360");
        return response;
      }
      case NotificationReplay::queued:
        break;
    }
    parts_.log.info("notification.replayed", {{"delivery", id.value}, {"actor", actor}});
    return json(202, "{\"id\":\"" + parts_.ids.text(id.value) + "\",\"status\":\"pending\"}");
  }

  NotifyParts parts_;
};

}  // namespace

std::vector<http::Route> notify_routes(NotifyParts parts) {
  const auto routes = std::make_shared<const NotifyRoutes>(std::move(parts));
  const auto route = [&](const char* method, const std::string& path, Role role,
                         void (NotifyRoutes::*handle)(Request, http::Reply) const) {
    return http::Route{method, "/orgs/{org}" + path, role, [routes, handle](Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  const auto bare_route = [&](const char* method, const std::string& path, Role role,
                              void (NotifyRoutes::*handle)(Request, http::Reply)
                                  const) { return without_fields(route(method, path, role, handle)); };
  const std::string channels = "/channels", channel = "/channels/{channel}";
  const std::string rules = "/alert-rules", rule = "/alert-rules/{rule}", bound = rule + "/channels",
                    binding = bound + "/{channel}";
  const std::string deliveries = "/deliveries", delivery = "/deliveries/{delivery}";
  return {route("POST", channels, Role::admin, &NotifyRoutes::add_channel),
          http::with_query(route("GET", channels, Role::member, &NotifyRoutes::list_channels), {"after"}),
          route("GET", channel, Role::member, &NotifyRoutes::show_channel),
          route("PATCH", channel, Role::admin, &NotifyRoutes::change_channel),
          bare_route("DELETE", channel, Role::admin, &NotifyRoutes::delete_channel),
          bare_route("POST", channel + "/rotate-secret", Role::owner, &NotifyRoutes::rotate_secret),
          bare_route("POST", channel + "/clear-secondary", Role::owner, &NotifyRoutes::clear_secondary),
          bare_route("POST", channel + "/test", Role::admin, &NotifyRoutes::test),
          route("POST", channel + "/recover", Role::admin, &NotifyRoutes::recover),
          route("POST", rules, Role::admin, &NotifyRoutes::add_rule),
          http::with_query(route("GET", rules, Role::member, &NotifyRoutes::list_rules), {"cursor"}),
          route("GET", rule, Role::member, &NotifyRoutes::show_rule),
          route("PATCH", rule, Role::admin, &NotifyRoutes::change_rule),
          bare_route("DELETE", rule, Role::admin, &NotifyRoutes::delete_rule),
          http::with_query(route("GET", bound, Role::member, &NotifyRoutes::bound), {"after"}),
          bare_route("PUT", binding, Role::admin, &NotifyRoutes::bind),
          bare_route("DELETE", binding, Role::admin, &NotifyRoutes::unbind),
          route("POST", rule + "/events", Role::admin, &NotifyRoutes::add_event),
          http::with_query(route("GET", deliveries, Role::member, &NotifyRoutes::list),
                           {"rule_id", "channel_id", "status", "limit", "cursor"}),
          route("GET", delivery, Role::member, &NotifyRoutes::show),
          route("GET", delivery + "/explain", Role::member, &NotifyRoutes::explain),
          bare_route("POST", delivery + "/replay", Role::admin, &NotifyRoutes::replay)};
}

}  // namespace waybill
