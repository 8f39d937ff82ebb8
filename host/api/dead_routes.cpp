// Handling of dead letters, from the parsed request to the reply.
#include "api/dead_routes.h"

#include "api/dead_json.h"
#include "api/error_reply.h"
#include "api/query.h"
#include "dead_letters/dead_letter_service.h"

namespace waybill {
namespace {

http::Response missing(const std::string& id) { return http::error_response(404, "not_found", "there is no dead letter " + id); }

ServiceCall call_of(const http::Request& request, DeliveryId id) {
  return {request.principal.org, id, request.principal.actor()};
}

class DeadLetterRoutes {
 public:
  explicit DeadLetterRoutes(DeadParts parts) : parts_(std::move(parts)) {}

  void list(http::Request request, http::Reply reply) const {
    auto query = read_dead_query(request);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, query = std::move(*query)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto page = session.dead->list(asked.principal.org, query.filter, query.most, query.after);
          answered(page ? http::json_response(200, dead_page_json(*page)) : failed(page.error()));
        });
  }

  void show(http::Request request, http::Reply reply) const {
    with_letter(std::move(request), std::move(reply),
                [this](DeadStore& store, const ServiceCall& call) { return shown(store, call); });
  }

  void edit(http::Request request, http::Reply reply) const {
    auto edit = read_edit(request.body);
    if (!edit) return reply(http::invalid_request(edit.error().what));
    with_letter(std::move(request), std::move(reply), [this, edit = std::move(*edit)](DeadStore& store, const ServiceCall& call) {
      const auto edited = edit_letter(store, parts_.types, call, edit);
      if (!edited) return failed(edited.error());
      parts_.log.info("dead_letter.edited", {{"id", call.id.value}, {"actor", call.actor}});
      return shown(store, call);
    });
  }

  void replay(http::Request request, http::Reply reply) const {
    const auto dry_run = read_dry_run(request.body);
    if (!dry_run) return reply(http::invalid_request(dry_run.error().what));
    with_letter(std::move(request), std::move(reply), [this, dry_run = *dry_run](DeadStore& store, const ServiceCall& call) {
      DeadFilter filter;
      filter.ids = {call.id};
      filter.replayed = true;
      const auto replays = store.replay(call.org, filter, call.actor, dry_run);
      if (!replays) return failed(replays.error());
      const auto& item = replays->items.front();
      if (item.letter.reference.empty()) return http::error_response(404, "not_found", item.refused);
      if (!item.refused.empty() && !dry_run) return http::error_response(409, "conflict", "not replayed: " + item.refused);
      return replayed(*replays, call.actor, dry_run);
    });
  }

  void replay_many(http::Request request, http::Reply reply) const {
    auto wanted = read_bulk_replay(request.body);
    if (!wanted) return reply(http::invalid_request(wanted.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, wanted = std::move(*wanted)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto call = call_of(asked, {});
          const auto replays = session.dead->replay(call.org, wanted.filter, call.actor, wanted.dry_run);
          answered(replays ? replayed(*replays, call.actor, wanted.dry_run) : failed(replays.error()));
        });
  }

  void clone(http::Request request, http::Reply reply) const {
    auto reference = read_new_reference(request.body);
    if (!reference) return reply(http::invalid_request(reference.error().what));
    with_letter(std::move(request), std::move(reply),
                [this, reference = std::move(*reference)](DeadStore& store, const ServiceCall& call) {
                  const auto cloned = clone_letter(store, *parts_.registry.current(), parts_.types, call, reference);
                  if (!cloned) return failed(cloned.error());
                  parts_.log.info("dead_letter.cloned", {{"id", call.id.value}, {"reference", reference}, {"actor", call.actor}});
                  parts_.is_due();
                  return http::json_response(201, cloned_json(*cloned));
                });
  }

 private:
  using Act = std::function<http::Response(DeadStore&, const ServiceCall&)>;

  void with_letter(http::Request request, http::Reply reply, Act act) const {
    const std::string& text = request.parameters.at("id");
    const auto id = delivery_id(text);
    if (!id) return reply(missing(text));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [id = *id, act = std::move(act)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          answered(act(*session.dead, call_of(asked, id)));
        });
  }

  http::Response shown(DeadStore& store, const ServiceCall& call) const {
    const auto view = store.show(call.org, call.id);
    if (!view) return failed(view.error());
    return *view ? http::json_response(200, dead_letter_json(**view)) : missing(std::to_string(call.id.value));
  }

  http::Response replayed(const Replays& replays, const std::string& actor, bool dry_run) const {
    if (!dry_run && replays.count > 0) {
      parts_.log.info("dead_letter.replayed", {{"count", replays.count}, {"actor", actor}});
      parts_.is_due();
    }
    return http::json_response(200, replays_json(replays, dry_run));
  }

  http::Response failed(const Error& error) const { return error_reply(error, parts_.log, "dead_letter.not_carried_out"); }

  DeadParts parts_;
};

}  // namespace

std::vector<http::Route> dead_routes(DeadParts parts) {
  const auto routes = std::make_shared<const DeadLetterRoutes>(std::move(parts));
  const auto route = [&](const char* method, const char* path,
                         void (DeadLetterRoutes::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::admin, [routes, handle](http::Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {http::with_query(route("GET", "/v1/dead", &DeadLetterRoutes::list),
                           {"reference", "formId", "reason", "before", "after", "id", "replayed", "limit", "cursor"}),
          route("GET", "/v1/dead/{id}", &DeadLetterRoutes::show),
          route("PATCH", "/v1/dead/{id}", &DeadLetterRoutes::edit),
          route("POST", "/v1/dead/{id}/replay", &DeadLetterRoutes::replay),
          route("POST", "/v1/dead/{id}/clone", &DeadLetterRoutes::clone),
          route("POST", "/v1/dead/replay", &DeadLetterRoutes::replay_many)};
}

}  // namespace waybill
