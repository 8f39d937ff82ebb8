// Finds fault every other time.
#include "poster.h"

namespace {
int asked = 0;
std::int32_t check(wb_str, wb_report report, void* user) {
  if (asked++ % 2 == 0) return 0;
  report(user, kit::str(""), kit::str("not this time"));
  return 1;
}
constexpr wb_action action() {
  auto made = kit::action("validator_wavers", &kit::create<kit::Poster>);
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "validator_wavers");
