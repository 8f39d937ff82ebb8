// Handling of hosts, from the parsed request to the reply.
#include "api/host_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/host_json.h"
#include "api/json_envelope.h"
#include "api/org_asked.h"

namespace waybill {
namespace {

class HostRoutes {
 public:
  HostRoutes(FormPool& pool, Log& log) : pool_(pool), log_(log) {}

  void list(http::Request request, http::Reply reply) const {
    pool_.ask(std::move(request), std::move(reply),
              [this](FormSession& session, const http::Request&, const http::Reply& answered) {
                const auto hosts = session.hosts->list();
                answered(hosts ? http::json_response(200, dump(listed_json(*hosts))) : failed(hosts.error()));
              });
  }

  void drain(http::Request request, http::Reply reply) const {
    auto reason = read_drain(request.body);
    if (!reason) return reply(http::invalid_request(reason.error().what));
    pool_.ask(std::move(request), std::move(reply),
              [this, reason = std::move(*reason)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                answered(done(drained(*session.hosts, asked, reason)));
              });
  }

  void resume(http::Request request, http::Reply reply) const {
    pool_.ask(std::move(request), std::move(reply),
              [this](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                answered(done(resumed(*session.hosts, asked)));
              });
  }

 private:
  Result<Json> drained(HostStore& hosts, const http::Request& asked, const std::string& reason) const {
    const auto by = through_api(asked);
    const auto name = hosts.name_of(asked.parameters.at("host"));
    TRY(name);
    const auto drain = hosts.drain(*name, reason, by);
    TRY(drain);
    log("hosts.drained", *name, by, drain->reason);
    const auto all = hosts.list();
    TRY(all);
    return drained_json(*name, *drain, *all);
  }

  Result<Json> resumed(HostStore& hosts, const http::Request& asked) const {
    const auto by = through_api(asked);
    const auto name = hosts.name_of(asked.parameters.at("host"));
    TRY(name);
    const auto drain = hosts.resume(*name, by);
    TRY(drain);
    log("hosts.resumed", *name, by, drain->reason);
    return undrained_json(*name, *drain);
  }

  void log(const char* event, const std::string& name, const Operator& by, const std::string& reason) const {
    log_.info(event, {{"name", name}, {"actor", by.actor}, {"reason", reason}});
  }
  http::Response done(const Result<Json>& json) const {
    return json ? http::json_response(200, dump(*json)) : failed(json.error());
  }
  http::Response failed(const Error& error) const { return error_reply(error, log_, "hosts.not_carried_out"); }

  FormPool& pool_;
  Log& log_;
};

}  // namespace

std::vector<http::Route> host_routes(FormPool& pool, Log& log) {
  const auto routes = std::make_shared<const HostRoutes>(pool, log);
  const auto route = [&](const char* method, const char* path, void (HostRoutes::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::operator_, [routes, handle](http::Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {route("GET", "/v1/hosts", &HostRoutes::list), route("POST", "/v1/hosts/{host}/drain", &HostRoutes::drain),
          without_fields(route("POST", "/v1/hosts/{host}/resume", &HostRoutes::resume))};
}

}  // namespace waybill
