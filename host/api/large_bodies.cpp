// Handing requests over to the pool, without a copy of their bodies.
#include "api/large_bodies.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace waybill {
namespace {

constexpr int kNice = 10;
// More than the 3 ms that others have, and not much more: who is preempted with a lock in hand gets its next turn the later.
constexpr std::uint64_t kSliceNs = 10'000'000;

// What sched_setattr(2) takes, in its first size. glibc has it since 2.41; the kernel's header conflicts with glibc's.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_BATCH;
  std::uint64_t flags = 0;
  std::int32_t nice = kNice;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = kSliceNs;
  std::uint64_t deadline = 0, period = 0;
};

// The calling thread gets less of the CPU while others want it, and, since Linux 6.12, is preempted by whoever wakes up with a
// shorter slice. Where that is refused, it still gets less; where that is refused as well, it runs as any other.
void yield_to_others() {
  thread_local const bool has_yielded = [] {
    const SchedulingAttributes wanted;
    return ::syscall(SYS_sched_setattr, 0, &wanted, 0) == 0 ||
           ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice) == 0;
  }();
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
