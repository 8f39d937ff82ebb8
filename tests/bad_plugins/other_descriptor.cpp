// Returns another descriptor each time.
#include "poster.h"

namespace {
constexpr wb_action kAction = kit::action("other_descriptor", &kit::create<kit::Poster>);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugins[] = {kit::plugin("test.other_descriptor", kActions), kit::plugin("test.other_descriptor", kActions)};
int asked = 0;
}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugins[asked++ % 2]; }
