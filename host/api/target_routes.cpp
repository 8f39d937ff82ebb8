// Handling of targets, from the parsed request to the reply.
#include "api/target_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/org_asked.h"
#include "api/target_json.h"

namespace waybill {
namespace {

class TargetRoutes {
 public:
  explicit TargetRoutes(TargetParts parts) : parts_(std::move(parts)) {}

  void list(http::Request request, http::Reply reply) const {
    auto query = read_stopped_query(request);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, query = std::move(*query)](FormSession& session, const http::Request&, const http::Reply& answered) {
                      const auto page = session.targets->stopped(query.after, query.most);
                      answered(page ? http::json_response(200, dump(stopped_json(*page))) : failed(page.error()));
                    });
  }

  void pause(http::Request request, http::Reply reply) const {
    auto wish = read_pause(request.body);
    if (!wish) return reply(http::invalid_request(wish.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, wish = std::move(*wish)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const TargetName name{wish.org, asked.parameters.at("target")};
          const auto by = through_api(asked);
          const auto done = session.targets->pause(name, wish.reason, has_target(*parts_.registry.current(), name.target), by);
          if (!done) return answered(failed(done.error()));
          log("target.paused", name, by, done->reason);
          answered(http::json_response(200, dump(paused_json(name, *done))));
        });
  }

  void resume(http::Request request, http::Reply reply) const {
    auto org = read_resume(request.body);
    if (!org) return reply(http::invalid_request(org.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, org = std::move(*org)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const TargetName name{org, asked.parameters.at("target")};
                      const auto by = through_api(asked);
                      const auto done = session.targets->resume(name, by);
                      if (!done) return answered(failed(done.error()));
                      log("target.resumed", name, by, done->pause ? done->pause->reason : "");
                      parts_.is_due();
                      answered(http::json_response(200, dump(resumed_json(name, *done))));
                    });
  }

 private:
  void log(const char* event, const TargetName& name, const Operator& by, const std::string& reason) const {
    parts_.log.info(event, {{"organisation", name.org}, {"target", name.target}, {"actor", by.actor}, {"reason", reason}});
  }
  http::Response failed(const Error& error) const { return error_reply(error, parts_.log, "target.not_carried_out"); }

  TargetParts parts_;
};

}  // namespace

std::vector<http::Route> target_routes(TargetParts parts) {
  const auto routes = std::make_shared<const TargetRoutes>(std::move(parts));
  const auto route = [&](const char* method, const char* path, void (TargetRoutes::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::operator_, [routes, handle](http::Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {http::with_query(route("GET", "/v1/targets", &TargetRoutes::list), {"limit", "cursor"}),
          route("POST", "/v1/targets/{target}/pause", &TargetRoutes::pause),
          route("POST", "/v1/targets/{target}/resume", &TargetRoutes::resume)};
}

}  // namespace waybill
