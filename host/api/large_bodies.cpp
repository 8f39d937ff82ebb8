// Handing requests over to the pool, without a copy of their bodies.
#include "api/large_bodies.h"

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace waybill {
namespace {

constexpr int kNice = 10;

// Of this thread alone, as Linux has it. Refused, nothing is lost but that.
void yield_to_others() {
  thread_local const bool has_yielded = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice) == 0;
  static_cast<void>(has_yielded);
}

}  // namespace

http::Route read_in(BodyPool& pool, http::Route route, Log& log) {
  route.handle = [&pool, &log, path = route.path, least = route.large_body, handle = std::move(route.handle)](
                     http::Request request, http::Reply reply) {
    if (request.body.size() < least) return handle(std::move(request), std::move(reply));
    http::Request whose;
    whose.principal = request.principal;
    whose.connection = request.connection;
    const std::size_t bytes = 2 * request.body.size();  // as text, and as it was read
    pool.ask(
        std::move(whose), std::move(reply),
        [&log, path, handle, whole = std::make_shared<http::Request>(std::move(request))](BodyReader&, const http::Request&,
                                                                                          const http::Reply& answered) {
          yield_to_others();
          try {
            handle(std::move(*whole), answered);
          } catch (const std::exception& error) {
            log.error("http.route_failed", {{"route", path}, {"error", error.what()}});
            answered(http::error_response(500, "internal_error", "the request failed; the log says why"));
          }
        },
        bytes);
  };
  return route;
}

}  // namespace waybill
