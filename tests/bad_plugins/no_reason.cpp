// Does not say why.
#include "poster.h"

namespace {
struct Taciturn : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    if (made.verdict == WB_TRANSIENT) made.reason = {};
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Taciturn, "no_reason");
