// Claims an action type that another plugin has already.
#include "kit.h"

namespace {
wb_sender* create(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { return nullptr; }
constexpr wb_action kAction = kit::action("good", &create);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.second_good", kActions);
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
