// Has an action type that cannot make a sender.
#include "kit.h"

namespace {
constexpr wb_action kAction = kit::action("null_create", nullptr);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.null_create", kActions);
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
