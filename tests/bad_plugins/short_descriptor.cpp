// Forgot the size of its descriptor.
#include "poster.h"

namespace {
constexpr wb_action kAction = kit::action("short_descriptor", &kit::create<kit::Poster>);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin{0, WB_ABI_MINOR, 0, kit::str("test.short_descriptor"), kit::str("1"), 1, kActions};
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
