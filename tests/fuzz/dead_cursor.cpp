// The query of a list of dead letters: a cursor that was read is the `next` of an answer, and is read as the same again.
#include <nlohmann/json.hpp>

#include "api/dead_json.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  http::Request request;
  request.query = fuzz::text_of(data, size);
  const auto query = read_dead_query(request);
  if (!query) {
    fuzz::promise(query.error().kind == Error::Kind::invalid, "a query is read or refused");
    return 0;
  }
  fuzz::promise(query->most >= 1 && query->most <= kMaxListed, "a page has a size");
  if (!query->after) return 0;
  fuzz::promise(query->after->id.value > 0, "a cursor stands at a letter");
  DeadPage page;
  page.next = query->after;
  request.query = "cursor=" + nlohmann::json::parse(dead_page_json(page)).at("next").get<std::string>();
  const auto again = read_dead_query(request);
  fuzz::promise(again && again->after && again->after->at == query->after->at && again->after->id == query->after->id,
                "a cursor that was read is written and read as the same");
  return 0;
}
