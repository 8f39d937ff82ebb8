// Reports one problem and says that there are two.
#include "poster.h"

namespace {
std::int32_t check(wb_str destination, wb_report report, void* user) {
  if (kit::view(destination).find("http") != std::string_view::npos) return 0;
  report(user, kit::str("/url"), kit::str("must be one of http"));
  return 2;
}
constexpr wb_action action() {
  auto made = kit::action("validator_miscounts", &kit::create<kit::Poster>);
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "validator_miscounts");
