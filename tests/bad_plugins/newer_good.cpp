// A later version of one of good's action types, which states what a payload must be, and counts what it accepts.
#include "poster.h"

namespace {
struct Counting : kit::Poster {
  using Poster::Poster;
  void answered(wb_call call, const wb_http_response& response) override {
    const auto made = judge(response);
    const auto& counters = kit::service<wb_counter_service>(host_, WB_COUNTER_SERVICE);
    if (made.verdict == WB_ACCEPTED) counters.add(host_, kit::str("taken"), 2);
    complete(call, made);
  }
};
constexpr wb_action action() {
  auto made = kit::action("good", &kit::create<Counting>);
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
