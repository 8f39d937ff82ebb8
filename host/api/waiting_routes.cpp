// Handling of what waits, from the parsed request to the reply.
#include "api/waiting_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/org_asked.h"
#include "api/target_json.h"
#include "api/waiting_json.h"

namespace waybill {
namespace {

class WaitingRoutes {
 public:
  explicit WaitingRoutes(WaitingParts parts) : parts_(std::move(parts)) {}

  void list(http::Request request, http::Reply reply) const {
    auto query = read_waiting_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    ask(std::move(request), std::move(reply),
        [this, query = std::move(*query)](FormSession& session, const auto& asked) -> Answer {
          const auto org = org_asked(session, asked.principal, query.org);
          TRY(org);
          const auto page = session.waiting->list(*org, query.filter, query.most, query.after);
          TRY(page);
          return waiting_json(*page, parts_.ids);
        });
  }

  void end(http::Request request, http::Reply reply) const {
    auto wish = read_waiting_end(request.body, parts_.ids);
    if (!wish) return reply(http::invalid_request(wish.error().what));
    ask(std::move(request), std::move(reply), [this, wish = std::move(*wish)](FormSession& session, const auto& asked) -> Answer {
      const auto order = order_of(session, asked, wish);
      TRY(order);
      const auto done = end_waiting(*session.waiting, *order);
      TRY(done);
      return told("waiting.ended", *order, *done);
    });
  }

  void reroute(http::Request request, http::Reply reply) const {
    auto wish = read_waiting_reroute(request.body, parts_.ids);
    if (!wish) return reply(http::invalid_request(wish.error().what));
    ask(std::move(request), std::move(reply), [this, wish = std::move(*wish)](FormSession& session, const auto& asked) -> Answer {
      const auto order = order_of(session, asked, wish);
      TRY(order);
      const auto done = reroute_waiting(*session.waiting, *parts_.registry.current(), parts_.types, *order, wish.to);
      TRY(done);
      return told("waiting.rerouted", *order, *done);
    });
  }

  void rates(http::Request request, http::Reply reply) const {
    ask(std::move(request), std::move(reply), [](FormSession& session, const auto&) -> Answer {
      const auto rates = session.targets->rates();
      TRY(rates);
      return dump(rates_json(*rates));
    });
  }

  void order_rate(http::Request request, http::Reply reply) const {
    auto wish = read_rate_wish(request.body);
    if (!wish) return reply(http::invalid_request(wish.error().what));
    ask(std::move(request), std::move(reply), [this, wish = std::move(*wish)](FormSession& session, const auto& asked) -> Answer {
      const TargetName name{wish.org, asked.parameters.at("target")};
      const bool is_known = has_target(*parts_.registry.current(), name.target);
      const auto order = session.targets->order_rate(name, wish.rate, wish.lasts, is_known, through_api(asked));
      TRY(order);
      log_rate("target.rate_ordered", name, *order);
      return dump(rate_json(name, *order));
    });
  }

  void clear_rate(http::Request request, http::Reply reply) const {
    auto org = read_resume(request.body);
    if (!org) return reply(http::invalid_request(org.error().what));
    ask(std::move(request), std::move(reply), [this, org = std::move(*org)](FormSession& session, const auto& asked) -> Answer {
      const TargetName name{org, asked.parameters.at("target")};
      const auto order = session.targets->clear_rate(name, through_api(asked));
      TRY(order);
      log_rate("target.rate_cleared", name, *order);
      return dump(rate_json(name, *order));
    });
  }

 private:
  using Answer = Result<std::string>;

  template <class Act>
  void ask(http::Request request, http::Reply reply, Act act) const {
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, act = std::move(act)](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const Answer answer = act(session, asked);
                      answered(answer ? http::json_response(200, *answer)
                                      : error_reply(answer.error(), parts_.log, "waiting.not_carried_out"));
                    });
  }

  static Result<WaitingOrder> order_of(FormSession& session, const http::Request& asked, const WaitingWish& wish) {
    const auto org = org_asked(session, asked.principal, wish.org);
    TRY(org);
    WaitingOrder order = wish.order;
    order.org = *org;
    order.by = through_api(asked);
    return order;
  }

  std::string told(const char* event, const WaitingOrder& order, const WaitingDone& done) const {
    if (!order.dry_run && done.count > 0) {
      parts_.log.info(
          event,
          {{"organisation", order.org.value}, {"target", order.filter.target}, {"count", done.count}, {"actor", order.by.actor}});
      parts_.is_due();
    }
    return waiting_done_json(done, order.dry_run, parts_.ids);
  }

  void log_rate(const char* event, const TargetName& name, const RateOrder& order) const {
    parts_.log.info(
        event, {{"organisation", name.org}, {"target", name.target}, {"rate", rate_text(order.rate)}, {"actor", order.actor}});
    parts_.is_due();
  }

  WaitingParts parts_;
};

}  // namespace

std::vector<http::Route> waiting_routes(WaitingParts parts) {
  const auto routes = std::make_shared<const WaitingRoutes>(std::move(parts));
  const auto route = [&](const char* method, const char* path, http::Role role,
                         void (WaitingRoutes::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, role, [routes, handle](http::Request request, http::Reply reply) {
                         (*routes.*handle)(std::move(request), std::move(reply));
                       }};
  };
  using enum http::Role;
  return {http::with_query(route("GET", "/v1/waiting", admin, &WaitingRoutes::list),
                           {"org", "target", "kind", "olderThanSeconds", "limit", "cursor"}),
          route("POST", "/v1/waiting:end", admin, &WaitingRoutes::end),
          route("POST", "/v1/waiting:reroute", admin, &WaitingRoutes::reroute),
          route("GET", "/v1/rates", operator_, &WaitingRoutes::rates),
          route("POST", "/v1/targets/{target}/rate", operator_, &WaitingRoutes::order_rate),
          route("POST", "/v1/targets/{target}/clear-rate", operator_, &WaitingRoutes::clear_rate)};
}

}  // namespace waybill
