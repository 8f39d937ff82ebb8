// Makes no sender from settings that it does not like, and does not say why.
#include "poster.h"

namespace {
wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
  return kit::view(settings) == "{}" ? kit::create<kit::Poster>(host, settings, vt, report, user) : nullptr;
}
}  // namespace

KIT_PLUGIN_OF(kit::action("refuses_silently", &create), "refuses_silently");
