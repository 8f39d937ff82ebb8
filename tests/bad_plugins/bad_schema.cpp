// Its destination schema is cut off.
#include "poster.h"

namespace {
constexpr wb_action action() {
  auto made = kit::action("bad_schema", &kit::create<kit::Poster>);
  made.destination_schema = kit::str(R"({"type":"object","properties":{)");
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "bad_schema");
