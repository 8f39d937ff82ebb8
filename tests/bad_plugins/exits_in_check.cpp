// Ends the process while it checks: settings that say "exit"; a destination that says "exit", or "leave" for _exit.
#include <unistd.h>

#include <cstdlib>

#include "poster.h"

namespace {
std::int32_t check(wb_str text, wb_report, void*) {
  if (kit::view(text).find("exit") != std::string_view::npos) std::exit(0);
  if (kit::view(text).find("leave") != std::string_view::npos) _exit(0);
  return 0;
}
constexpr wb_action action() {
  auto made = kit::action("exits_in_check", &kit::create<kit::Poster>);
  made.validate_settings = &check;
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "exits_in_check");
