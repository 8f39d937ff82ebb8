// Its result for the next stage is not JSON.
#include "poster.h"

namespace {
struct Scribbler : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    made.result = kit::str("it went well");
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Scribbler, "result_not_json");
