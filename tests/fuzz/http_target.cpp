// The request line's target and the query: percent-encoding and the choice of a route.
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "http/router.h"
#include "http/server_url.h"

namespace waybill::fuzz {
namespace {

std::string encoded(std::string_view text) {
  std::string all;
  char one[4];
  for (const char c : text) {
    std::snprintf(one, sizeof one, "%%%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    all += one;
  }
  return all;
}

const http::Router& router() {
  static const http::RouteFunction nothing = [](http::Request, http::Reply) {};
  static const http::Router kRouter({{"GET", "/v1/intents/{id}", http::Role::none, nothing},
                                     {"POST", "/v1/intents", http::Role::none, nothing},
                                     {"GET", "/v1/intents/{id}/history", http::Role::none, nothing}});
  return kRouter;
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto text = fuzz::text_of(data, size);
  for (const bool plus_is_space : {false, true})
    if (const auto decoded = http::percent_decode(text, plus_is_space))
      fuzz::promise(decoded->size() <= size && http::percent_decode(fuzz::encoded(*decoded), plus_is_space) == decoded,
                    "a text that was decoded is encoded and decoded as the same");
  const auto match = fuzz::router().find("GET", text);
  fuzz::promise((match.route == nullptr) == match.refusal.has_value(), "a request has a route or a refusal");
  for (const auto& [name, value] : match.parameters)
    fuzz::promise(name == "id" && !value.empty() && is_clean_utf8(value), "a parameter is text");
  const auto head = fuzz::router().find("HEAD", text);
  fuzz::promise(head.route == match.route && head.parameters == match.parameters, "HEAD finds what GET finds");
  http::Request request;
  request.query = match.query;
  static_cast<void>(request.query_value("cursor"));
  return 0;
}
