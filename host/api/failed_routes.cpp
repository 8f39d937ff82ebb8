// Handling of failed deliveries, from the parsed request to the reply.
#include "api/failed_routes.h"

#include "api/dead_json.h"
#include "api/error_reply.h"
#include "api/failed_json.h"

namespace waybill {
namespace {

class FailedRoutes {
 public:
  explicit FailedRoutes(FailedParts parts) : parts_(std::move(parts)) {}

  void list(http::Request request, http::Reply reply) const {
    auto query = read_failed_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, query = std::move(*query)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto page = session.failed->list(asked.principal.org, query.filter, query.most, query.after);
          answered(page ? http::json_response(200, failed_page_json(*page, parts_.ids)) : failed(page.error()));
        });
  }

  void resend(http::Request request, http::Reply reply) const {
    auto order = read_resend(request.body, parts_.ids);
    if (!order) return reply(http::invalid_request(order.error().what));
    order->actor = request.principal.actor();
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, order = std::move(*order)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const auto done = session.failed->resend(asked.principal.org, order);
          if (!done) return answered(failed(done.error()));
          if (!order.dry_run && done->count > 0) {
            parts_.log.info("failed.sent_again", {{"count", done->count}, {"actor", order.actor}});
            parts_.is_due();
          }
          answered(http::json_response(200, replays_json(*done, order.dry_run, parts_.ids)));
        });
  }

 private:
  http::Response failed(const Error& error) const { return error_reply(error, parts_.log, "failed.not_carried_out"); }

  FailedParts parts_;
};

}  // namespace

std::vector<http::Route> failed_routes(FailedParts parts) {
  const auto routes = std::make_shared<const FailedRoutes>(std::move(parts));
  const auto route = [&](const char* method, const char* path, void (FailedRoutes::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::admin, [routes, handle](http::Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {http::with_query(route("GET", "/v1/failures", &FailedRoutes::list),
                           {"reference", "target", "kind", "formId", "pipeline", "channel", "reason", "status", "since", "until",
                            "limit", "cursor"}),
          route("POST", "/v1/failures:resend", &FailedRoutes::resend)};
}

}  // namespace waybill
