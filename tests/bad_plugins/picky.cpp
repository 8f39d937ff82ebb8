// Checks settings and destinations itself: complains a lot, throws, or refuses without a word.
#include <stdexcept>

#include "kit.h"

namespace {

std::int32_t check(wb_str json, wb_report report, void* user) {
  const auto text = kit::view(json);
  if (text.find("many") != text.npos) {
    for (int i = 0; i < 1000; ++i) report(user, kit::str("/headers/X-A"), kit::str(std::string_view("bad \xff\n header")));
    return 1000;
  }
  if (text.find("throw") != text.npos) throw std::runtime_error("check");
  return text.find("silent") != text.npos ? 1 : 0;
}

wb_sender* create(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { return nullptr; }

constexpr wb_action kAction{sizeof(wb_action),
                            0,
                            2,
                            kit::str("picky"),
                            kit::str(""),
                            kit::str(R"({"type":"object","required":["url"],"properties":{"url":{"type":"string","minLength":5},)"
                                     R"("to":{"type":"array","items":{"type":"string"}}}})"),
                            kit::kReasons,
                            &check,
                            &check,
                            &create,
                            kit::str("")};
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.picky", kActions);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
