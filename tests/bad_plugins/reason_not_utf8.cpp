// Its reason is not UTF-8.
#include "poster.h"

namespace {
struct Mumbler : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    if (made.verdict == WB_TRANSIENT) made.reason = kit::str("a\xff\xfez");
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Mumbler, "reason_not_utf8");
