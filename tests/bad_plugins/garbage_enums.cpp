// Completes with numbers that mean nothing.
#include "poster.h"

namespace {
struct Babbler : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response&) override {
    auto made = kit::outcome(-559038737, 99, "garbage");
    made.scope = 0x7fffffff;
    made.retry_after_ms = -4711;
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Babbler, "garbage_enums");
