// Declares a reason twice.
#include "poster.h"

namespace {
constexpr wb_reason kTwice[] = {{kit::str("invalid_request"), 0, 0}, {kit::str("invalid_request"), WB_REASON_PERMANENT, 0}};
constexpr wb_action action() {
  auto made = kit::action("duplicate_reason", &kit::create<kit::Poster>);
  made.reasons = kTwice;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "duplicate_reason");
