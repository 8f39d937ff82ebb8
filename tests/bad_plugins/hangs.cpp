// Never comes back from send, in both kinds of sender, or from create; the target "good" is accepted, so that a new sender can
// show its worth.
#include <unistd.h>

#include "kit.h"

namespace {

void send(wb_sender* self, wb_call call, const wb_job* job) {
  const auto* const host = kit::of(self).host;
  const bool hang = kit::view(job->target) != "good";
  if (hang) host->log(host, call, WB_LOG_INFO, kit::str("hanging"), nullptr, 0);
  while (hang) pause();
  const auto made = kit::outcome(WB_ACCEPTED);
  host->complete(host, call, &made);
}

constexpr wb_sender_vt kTable{&send, &kit::no_cancel, &kit::no_extension, &kit::destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return kit::make(host);
}

wb_sender* never_create(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) {
  for (;;) pause();
}

constexpr wb_action kNever = kit::action("hangs_in_create", &never_create);
constexpr wb_action kHangs = kit::action("hangs", &create);
constexpr wb_action kBlocking = kit::action("hangs_blocking", &create, WB_BLOCKING);
constexpr const wb_action* kActions[] = {&kHangs, &kBlocking, &kNever};
constexpr wb_plugin kPlugin = kit::plugin("test.hangs", kActions, 3);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
