// Wants a destination that nobody can guess, and does not show one in its schema.
#include "poster.h"

namespace {
std::int32_t check(wb_str destination, wb_report report, void* user) {
  if (kit::view(destination).find("open sesame") != std::string_view::npos) return 0;
  report(user, kit::str("/password"), kit::str("is wrong"));
  return 1;
}
constexpr wb_action action() {
  auto made = kit::action("hard_to_please", &kit::create<kit::Poster>);
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "hard_to_please");
