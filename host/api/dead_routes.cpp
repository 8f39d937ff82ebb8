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
    auto query = read_dead_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, query = std::move(*query)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto page = session.dead->list(asked.principal.org, query.filter, query.most, query.after);
          answered(page ? http::json_response(200, dead_page_json(*page, parts_.ids)) : failed(page.error()));
        });
  }

  void show(http::Request request, http::Reply reply) const {
    with_letter(std::move(request), std::move(reply),
                [this](DeadStore& store, const ServiceCall& call) { return shown(store, call); });
  }

  void edit(http::Request request, http::Reply reply) const {
    auto edit = read_edit(request.body);
    if (!edit) return reply(http::invalid_request(edit.error().what));
    with_letter(std::move(request), std::move(reply),
                [this, edit = std::move(*edit)](DeadStore& store, const ServiceCall& call) -> Result<http::Response> {
                  const auto edited = edit_letter(store, parts_.types, call, edit);
                  TRY(edited);
                  parts_.log.info("dead_letter.edited", {{"id", call.id.value}, {"actor", call.actor}});
                  return shown(store, call);
                });
  }

  void replay(http::Request request, http::Reply reply) const {
    const auto dry_run = read_dry_run(request.body);
    if (!dry_run) return reply(http::invalid_request(dry_run.error().what));
    with_letter(std::move(request), std::move(reply),
                [this, dry_run = *dry_run](DeadStore& store, const ServiceCall& call) -> Result<http::Response> {
                  DeadFilter filter;
                  filter.ids = {call.id};
                  filter.replayed = true;
                  const auto replays = store.replay(call.org, filter, call.actor, dry_run);
                  TRY(replays);
                  const auto& item = replays->items.front();
                  if (item.letter.reference.empty()) return fail(Error::Kind::not_found, item.refused);
                  if (!item.refused.empty() && !dry_run)
                    return http::error_response(409, "conflict", "not replayed: " + item.refused);
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
                [this, reference = std::move(*reference)](DeadStore& store, const ServiceCall& call) -> Result<http::Response> {
                  const auto cloned = clone_letter(store, *parts_.registry.current(), parts_.types, call, reference);
                  TRY(cloned);
                  parts_.log.info("dead_letter.cloned", {{"id", call.id.value}, {"reference", reference}, {"actor", call.actor}});
                  parts_.is_due();
                  return http::json_response(201, cloned_json(*cloned));
                });
  }

 private:
  using Act = std::function<Result<http::Response>(DeadStore&, const ServiceCall&)>;

  // What is not there is told by the id that the client gave, as it gave it.
  void with_letter(http::Request request, http::Reply reply, Act act) const {
    const std::string& text = request.parameters.at("id");
    const auto id = delivery_id(text, parts_.ids);
    if (!id) return reply(missing(text));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, id = *id, act = std::move(act)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          auto answer = act(*session.dead, call_of(asked, id));
          if (answer) return answered(std::move(*answer));
          answered(answer.error().kind == Error::Kind::not_found ? missing(asked.parameters.at("id")) : failed(answer.error()));
        });
  }

  Result<http::Response> shown(DeadStore& store, const ServiceCall& call) const {
    const auto view = store.show(call.org, call.id);
    TRY(view);
    if (!*view) return fail(Error::Kind::not_found, no_such_letter(call.id));
    return http::json_response(200, dead_letter_json(**view, parts_.ids));
  }

  http::Response replayed(const Replays& replays, const std::string& actor, bool dry_run) const {
    if (!dry_run && replays.count > 0) {
      parts_.log.info("dead_letter.replayed", {{"count", replays.count}, {"actor", actor}});
      parts_.is_due();
    }
    return http::json_response(200, replays_json(replays, dry_run, parts_.ids));
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
