// Is never content with an answer.
#include "poster.h"

namespace {
struct Grumbler : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    return kit::outcome(WB_TRANSIENT, response.reach, "not_good_enough");
  }
};
}  // namespace

KIT_PLUGIN(Grumbler, "never_accepts");
