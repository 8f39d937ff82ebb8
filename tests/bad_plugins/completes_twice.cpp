// Says accepted twice, to be sure.
#include "poster.h"

namespace {
struct Emphatic : kit::Poster {
  using Poster::Poster;
  void answered(wb_call call, const wb_http_response& response) override {
    const auto made = judge(response);
    complete(call, made);
    if (made.verdict == WB_ACCEPTED) complete(call, made);
  }
};
}  // namespace

KIT_PLUGIN(Emphatic, "completes_twice");
