// A later version of good, which says nothing against its settings and then makes no sender of them.
#include "kit.h"

namespace {
wb_sender* create(const wb_host*, wb_str, const wb_sender_vt**, wb_report report, void* user) {
  report(user, kit::str(""), kit::str("has had enough"));
  return nullptr;
}
constexpr wb_action kAction = kit::action("good", &create);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin described() {
  auto made = kit::plugin("test.good", kActions);
  made.version = kit::str("2");
  return made;
}
constexpr wb_plugin kPlugin = described();
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
