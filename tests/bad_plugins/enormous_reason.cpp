// Has a reason of a megabyte.
#include "poster.h"

namespace {
struct Windbag : kit::Poster {
  using Poster::Poster;
  void answered(wb_call call, const wb_http_response& response) override {
    auto made = judge(response);
    const std::string words(1 << 20, 'w');
    if (made.verdict == WB_TRANSIENT) made.reason = kit::str(words);
    complete(call, made);
  }
};
}  // namespace

KIT_PLUGIN(Windbag, "enormous_reason");
