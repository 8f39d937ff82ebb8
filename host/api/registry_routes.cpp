// Answers about the registry's history.
#include "api/registry_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/registry_json.h"

namespace waybill {
namespace {

http::Response reply_of(const Result<Json>& json, Log& log) {
  return json ? http::json_response(200, dump(*json)) : error_reply(json.error(), log, "registry.not_read");
}

}  // namespace

std::vector<http::Route> registry_routes(FormPool& pool, Log& log) {
  const auto list = [&pool, &log](http::Request request, http::Reply reply) {
    const auto query = read_registry_query(request);
    if (!query) return reply(http::invalid_request(query.error().what));
    pool.ask(std::move(request), std::move(reply),
             [query = *query, &log](FormSession& session, const http::Request&, const http::Reply& answered) {
               answered(reply_of(session.registries->events(query.before, query.most).map(events_json), log));
             });
  };
  const auto find = [&pool, &log](http::Request request, http::Reply reply) {
    const auto version = read_registry_version(request.parameters.at("version"));
    if (!version) return reply(http::invalid_request(version.error().what));
    pool.ask(std::move(request), std::move(reply),
             [version = *version, &log](FormSession& session, const http::Request&, const http::Reply& answered) {
               answered(reply_of(session.registries->find(version).map(version_json), log));
             });
  };
  return {http::with_query({"GET", "/v1/registry/versions", http::Role::operator_, list}, {"limit", "cursor"}),
          {"GET", "/v1/registry/versions/{version}", http::Role::operator_, find}};
}

}  // namespace waybill
