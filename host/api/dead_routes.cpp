// Handling of dead letters, from the parsed request to the reply.
#include "api/dead_routes.h"

#include "api/dead_json.h"
#include "api/intent_json.h"
#include "dead_letters/dead_letter_service.h"

namespace waybill {
namespace {

Response missing(const std::string& id) { return error_response(404, "not_found", "there is no dead letter " + id); }

ServiceCall call_of(const Request& request, DeliveryId id) { return {request.principal.org, id, request.principal.actor()}; }

class DeadLetterService {
 public:
  explicit DeadLetterService(FormParts parts) : parts_(std::move(parts)) {}

  void list(Request request, Reply reply) const {
    auto query = read_dead_query(request);
    if (!query) return reply(invalid_request(query.error().what));
    parts_.pool.ask(
        [this, org = request.principal.org, query = std::move(*query), reply = std::move(reply)](FormSession& session) {
          const auto page = session.dead->list(org, query.filter, query.most, query.after);
          reply(page ? json_response(200, dead_page_json(*page)) : failed(page.error()));
        });
  }

  void show(Request request, Reply reply) const {
    with_letter(std::move(request), std::move(reply),
                [this](DeadStore& store, const ServiceCall& call) { return shown(store, call); });
  }

  void edit(Request request, Reply reply) const {
    auto edit = read_mending(request.body);
    if (!edit) return reply(invalid_request(edit.error().what));
    with_letter(std::move(request), std::move(reply), [this, edit = std::move(*edit)](DeadStore& store, const ServiceCall& call) {
      const auto mended = mend_letter(store, parts_.types, call, edit);
      if (!mended) return failed(mended.error());
      parts_.log.info("dead_letter.edited", {{"id", call.id.value}, {"actor", call.actor}});
      return shown(store, call);
    });
  }

  void replay(Request request, Reply reply) const {
    const auto dry_run = read_dry_run(request.body);
    if (!dry_run) return reply(invalid_request(dry_run.error().what));
    with_letter(std::move(request), std::move(reply), [this, dry_run = *dry_run](DeadStore& store, const ServiceCall& call) {
      DeadFilter filter;
      filter.ids = {call.id};
      filter.replayed = true;
      const auto replays = store.replay(call.org, filter, call.actor, dry_run);
      if (!replays) return failed(replays.error());
      const auto& item = replays->items.front();
      if (item.letter.reference.empty()) return error_response(404, "not_found", item.refused);
      if (!item.refused.empty() && !dry_run) return error_response(409, "conflict", "not replayed: " + item.refused);
      return replayed(*replays, call.actor, dry_run);
    });
  }

  void replay_many(Request request, Reply reply) const {
    auto wanted = read_bulk_replay(request.body);
    if (!wanted) return reply(invalid_request(wanted.error().what));
    parts_.pool.ask(
        [this, call = call_of(request, {}), wanted = std::move(*wanted), reply = std::move(reply)](FormSession& session) {
          const auto replays = session.dead->replay(call.org, wanted.filter, call.actor, wanted.dry_run);
          reply(replays ? replayed(*replays, call.actor, wanted.dry_run) : failed(replays.error()));
        });
  }

  void clone(Request request, Reply reply) const {
    auto reference = read_new_reference(request.body);
    if (!reference) return reply(invalid_request(reference.error().what));
    with_letter(std::move(request), std::move(reply),
                [this, reference = std::move(*reference)](DeadStore& store, const ServiceCall& call) {
                  const auto cloned = clone_letter(store, *parts_.registry.current(), parts_.types, call, reference);
                  if (!cloned) return failed(cloned.error());
                  parts_.log.info("dead_letter.cloned", {{"id", call.id.value}, {"reference", reference}, {"actor", call.actor}});
                  parts_.wake();
                  return json_response(201, cloned_json(*cloned));
                });
  }

 private:
  using Act = std::function<Response(DeadStore&, const ServiceCall&)>;

  void with_letter(Request request, Reply reply, Act act) const {
    const std::string& text = request.parameters.at("id");
    const auto id = letter_id(text);
    if (!id) return reply(missing(text));
    parts_.pool.ask([call = call_of(request, *id), act = std::move(act), reply = std::move(reply)](FormSession& session) {
      reply(act(*session.dead, call));
    });
  }

  Response shown(DeadStore& store, const ServiceCall& call) const {
    const auto view = store.show(call.org, call.id);
    if (!view) return failed(view.error());
    return *view ? json_response(200, dead_letter_json(**view)) : missing(std::to_string(call.id.value));
  }

  Response replayed(const Replays& replays, const std::string& actor, bool dry_run) const {
    if (!dry_run && replays.count > 0) {
      parts_.log.info("dead_letter.replayed", {{"count", replays.count}, {"actor", actor}});
      parts_.wake();
    }
    return json_response(200, replays_json(replays, dry_run));
  }

  Response failed(const Error& error) const {
    if (error.kind == Error::Kind::invalid) return invalid_request(error.what);
    if (error.kind == Error::Kind::not_found) return error_response(404, "not_found", error.what);
    if (error.kind == Error::Kind::conflict) return error_response(409, "conflict", error.what);
    parts_.log.error("dead_letter.not_carried_out", {{"error", error.what}});
    return failure_response(error);
  }

  FormParts parts_;
};

}  // namespace

std::vector<Route> dead_routes(FormParts parts) {
  const auto desk = std::make_shared<const DeadLetterService>(std::move(parts));
  const auto route = [&](const char* method, const char* path, void (DeadLetterService::*handle)(Request, Reply) const) {
    return Route{method, path, Role::admin,
                 [desk, handle](Request request, Reply reply) { (*desk.*handle)(std::move(request), std::move(reply)); }};
  };
  return {route("GET", "/v1/dead", &DeadLetterService::list),
          route("GET", "/v1/dead/{id}", &DeadLetterService::show),
          route("PATCH", "/v1/dead/{id}", &DeadLetterService::edit),
          route("POST", "/v1/dead/{id}/replay", &DeadLetterService::replay),
          route("POST", "/v1/dead/{id}/clone", &DeadLetterService::clone),
          route("POST", "/v1/dead/replay", &DeadLetterService::replay_many)};
}

}  // namespace waybill
