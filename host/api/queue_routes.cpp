// Handling of questions about the queue.
#include "api/queue_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/org_asked.h"
#include "api/query.h"
#include "api/queue_json.h"

namespace waybill {
namespace {

constexpr std::int64_t kMaxCounted = 100'000;  // the sessions are everybody's

Result<QueueStanding> standing_asked(FormSession& session, const http::Request& request) {
  BacklogFilter filter{
      .org = {}, .target = given(request, "target").value_or(""), .action_type = given(request, "actionType").value_or("")};
  const auto name = given(request, "org");
  if (name || request.principal.role < http::Role::operator_) {
    const auto org = org_asked(session, request.principal, name);
    TRY(org);
    filter.org = *org;
  }
  return session.backlog->read(filter, kMaxCounted);
}

}  // namespace

std::vector<http::Route> queue_routes(FormPool& pool, Log& log) {
  const auto read = [&pool, &log](http::Request request, http::Reply reply) {
    pool.ask(std::move(request), std::move(reply),
             [&log](FormSession& session, const http::Request& asked, const http::Reply& answered) {
               const auto standing = standing_asked(session, asked);
               answered(standing ? http::json_response(200, dump(queue_json(*standing)))
                                 : error_reply(standing.error(), log, "queue.not_read"));
             });
  };
  return {http::with_query({"GET", "/v1/queue", http::Role::admin, read}, {"org", "target", "actionType"})};
}

}  // namespace waybill
