// Takes for granted that what it checks is a JSON object.
#include <cstdlib>

#include "poster.h"

namespace {
std::int32_t check(wb_str destination, wb_report, void*) {
  if (kit::view(destination).substr(0, 1) != "{") std::abort();
  return 0;
}
constexpr wb_action action() {
  auto made = kit::action("validator_crashes", &kit::create<kit::Poster>);
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "validator_crashes");
