// Three action types whose create throws, refuses, and gives a sender without functions.
#include <stdexcept>

#include "kit.h"

namespace {

wb_sender* throwing(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { throw std::runtime_error("create"); }

wb_sender* refusing(const wb_host*, wb_str, const wb_sender_vt**, wb_report report, void* user) {
  report(user, kit::str("/relay/port"), kit::str("must be \xff a port\n"));
  return nullptr;
}

wb_sender* no_table(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  static const wb_sender_vt empty{};
  static kit::Sender sender{host};
  *vt = &empty;
  return reinterpret_cast<wb_sender*>(&sender);
}

constexpr wb_action kThrowing = kit::action("create_throws", &throwing);
constexpr wb_action kRefusing = kit::action("create_refuses", &refusing);
constexpr wb_action kNoTable = kit::action("create_no_table", &no_table);
constexpr const wb_action* kActions[] = {&kThrowing, &kRefusing, &kNoTable};
constexpr wb_plugin kPlugin = kit::plugin("test.bad_create", kActions, 3);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
