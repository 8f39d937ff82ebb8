// The Authorization header: exactly one bearer token is known, and nobody else is anybody.
#include <future>
#include <regex>

#include "api/token_check.h"
#include "api/token_text.h"
#include "fuzz/fuzz.h"
#include "unit/api/read_world.h"

namespace waybill::fuzz {
namespace {

constexpr auto kToken = "wbt_known";

struct Door {
  Door() {
    world.allow(kToken, {{7}, "ci", "admin"});
    check.start();
  }
  testing::ReadWorld world;
  const SystemClock clock;
  Log log{Log::Level::error, Log::Format::json};
  Metrics metrics;
  TokenCheck check{world.token_sessions(1), clock, {.failed_sign_ins = std::size_t{1} << 40}, log, metrics};
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
  fuzz::promise(
      principal->has_value() == std::regex_match(header, std::regex(std::string("[Bb][Ee][Aa][Rr][Ee][Rr] +") + fuzz::kToken)),
      "only the token itself is known");
  const auto id = public_id_of(header);
  fuzz::promise(id.empty() || (id.size() == 12 && header.starts_with("wbt_" + std::string(id) + "_")),
                "an id is what stands in the token");
  return 0;
}
