// Has the same action type twice.
#include "poster.h"

namespace {
constexpr wb_action kAction = kit::action("duplicate_type", &kit::create<kit::Poster>);
constexpr const wb_action* kActions[] = {&kAction, &kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.duplicate_type", kActions, 2);
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
