// Handling of organisations, from the parsed request to the reply.
#include "api/org_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/json_envelope.h"
#include "api/org_json.h"

namespace waybill {
namespace {

class Organisations {
 public:
  explicit Organisations(OrgParts parts) : parts_(parts) {}

  void create(http::Request request, http::Reply reply) const {
    auto name = read_new_org(request.body);
    if (!name) return reply(http::invalid_request(name.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, name = std::move(*name)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto made = session.orgs->create(name);
          if (!made && made.error().kind == Error::Kind::unavailable)  // an operator is told what is missing
            return answered(http::error_response(503, "unavailable", made.error().what));
          if (!made) return answered(failed(made.error()));
          parts_.log.info("organisation.created", {{"organisation", name}, {"actor", asked.principal.actor()}});
          answered(http::json_response(201, dump(org_json(*made))));
        });
  }

  void list(http::Request request, http::Reply reply) const {
    auto query = read_org_query(request);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, query = std::move(*query)](FormSession& session, const http::Request&, const http::Reply& answered) {
                      const auto page = session.orgs->list(query.after, query.most);
                      answered(page ? http::json_response(200, dump(org_page_json(*page))) : failed(page.error()));
                    });
  }

  void show(http::Request request, http::Reply reply) const {
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& name = asked.parameters.at("org");
                      answered(shown(session.orgs->find(name), name));
                    });
  }

  void change(http::Request request, http::Reply reply) const {
    const auto weight = read_org_change(request.body);
    if (!weight) return reply(http::invalid_request(weight.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, weight = *weight](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& name = asked.parameters.at("org");
                      const auto org = session.orgs->set_weight(name, weight);
                      if (org && *org)
                        parts_.log.info("organisation.weighed",
                                        {{"organisation", name}, {"weight", weight}, {"actor", asked.principal.actor()}});
                      answered(shown(org, name));
                    });
  }

  void disable(http::Request request, http::Reply reply) const { set_disabled(std::move(request), std::move(reply), true); }
  void enable(http::Request request, http::Reply reply) const { set_disabled(std::move(request), std::move(reply), false); }

 private:
  void set_disabled(http::Request request, http::Reply reply, bool disabled) const {
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, disabled](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& name = asked.parameters.at("org");
                      const auto org = session.orgs->set_disabled(name, disabled);
                      if (org && *org)
                        parts_.log.info(disabled ? "organisation.disabled" : "organisation.enabled",
                                        {{"organisation", name}, {"actor", asked.principal.actor()}});
                      answered(shown(org, name));
                    });
  }

  http::Response shown(const Result<std::optional<OrgView>>& org, const std::string& name) const {
    if (!org) return failed(org.error());
    return *org ? http::json_response(200, dump(org_json(**org)))
                : http::error_response(404, "not_found", "there is no organisation \"" + name + "\"");
  }

  http::Response failed(const Error& error) const { return error_reply(error, parts_.log, "organisation.not_carried_out"); }

  OrgParts parts_;
};

}  // namespace

std::vector<http::Route> org_routes(OrgParts parts) {
  const auto organisations = std::make_shared<const Organisations>(parts);
  const auto route = [&](const char* method, const char* path, void (Organisations::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::operator_, [organisations, handle](http::Request request, http::Reply reply) {
                         (*organisations.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {route("POST", "/orgs", &Organisations::create),
          http::with_query(route("GET", "/orgs", &Organisations::list), {"limit", "cursor"}),
          route("GET", "/orgs/{org}", &Organisations::show),
          route("PATCH", "/orgs/{org}", &Organisations::change),
          without_fields(route("POST", "/orgs/{org}/disable", &Organisations::disable)),
          without_fields(route("POST", "/orgs/{org}/enable", &Organisations::enable))};
}

}  // namespace waybill
