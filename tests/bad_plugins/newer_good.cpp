// A later version of one of good's action types, which states what a payload must be.
#include "poster.h"

namespace {
constexpr wb_action action() {
  auto made = kit::action("good", &kit::create<kit::Poster>);
  made.payload_schema = kit::str(R"({"type":"object","required":["to"],"properties":{"to":{"type":"string","minLength":1}}})");
  return made;
}
constexpr wb_action kAction = action();
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin described() {
  auto made = kit::plugin("test.good", kActions);
  made.version = kit::str("1.10");
  return made;
}
constexpr wb_plugin kPlugin = described();
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
