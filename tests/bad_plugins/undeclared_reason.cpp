// Rejects for a reason that it never declared.
#include "poster.h"

namespace {
struct Inventor : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    if (made.verdict == WB_REJECTED) made.reason = kit::str("because");
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Inventor, "undeclared_reason");
