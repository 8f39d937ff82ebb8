// The Authorization header: exactly one bearer token is known, and nobody else is anybody.
#include <future>

#include "api/token_check.h"
#include "fuzz/fuzz.h"
#include "unit/api/read_world.h"

namespace waybill::fuzz {
namespace {

constexpr auto kToken = "wbt_known";

struct Door {
  Door() {
    world.allow(kToken, {{7}, "ci", "admin"});
    pool.start();
  }
  testing::ReadWorld world;
  const SystemClock clock;
  ReadPool pool{world.sessions(1)};
  TokenCheck check{pool, clock};
};

http::Admission admission(std::string header) {
  static Door door;
  std::promise<http::Admission> answer;
  http::Request request;
  request.authorization = std::move(header);
  door.check(request, [&](http::Admission given) { answer.set_value(std::move(given)); });
  return answer.get_future().get();
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const std::string header(fuzz::text_of(data, size));
  const auto answer = fuzz::admission(header);
  const auto* principal = std::get_if<std::optional<http::Principal>>(&answer);
  fuzz::promise(principal, "a header is looked at");
  fuzz::promise(principal->has_value() == (header == std::string("Bearer ") + fuzz::kToken), "only the token itself is known");
  return 0;
}
