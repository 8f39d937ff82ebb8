// Makes a sender that cannot be cancelled: its table has a hole.
#include "poster.h"

namespace {
constexpr wb_sender_vt kHalf{kit::kPosterTable.send, nullptr, kit::kPosterTable.get_extension, kit::kPosterTable.destroy};
wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
  auto* const sender = kit::create<kit::Poster>(host, settings, vt, report, user);
  *vt = &kHalf;
  return sender;
}
}  // namespace

KIT_PLUGIN_OF(kit::action("half_a_table", &create), "half_a_table");
