// Needs a host that does not exist yet.
#include "kit.h"

namespace {
wb_sender* create(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { return nullptr; }
constexpr wb_action kAction = kit::action("newer_minor", &create);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin{sizeof(wb_plugin), 7, 7, kit::str("test.newer_minor"), kit::str("1"), 1, kActions};
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
