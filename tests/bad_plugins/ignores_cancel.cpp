// Has better things to do than to end early.
#include "poster.h"

namespace {
struct Deaf : kit::Poster {
  using Poster::Poster;
  void cancel(wb_call) override {}
};
}  // namespace

KIT_PLUGIN(Deaf, "ignores_cancel");
