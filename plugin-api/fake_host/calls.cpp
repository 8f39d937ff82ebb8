// Starts calls.
#include "calls.h"

namespace waybill::fake_host {

using testkit::CallKind;

const char* extension_of(CallKind kind) {
  static constexpr const char* kIds[] = {"", WB_COMPOSE_EXTENSION, WB_STATUS_EXTENSION, WB_PROBE_EXTENSION,
                                         WB_FAILURES_EXTENSION};
  return kIds[static_cast<std::size_t>(kind)];
}

void start_call(CallKind kind, wb_sender* sender, const wb_sender_vt& table, const void* extension, wb_call call,
                const wb_job* job, const wb_failure_query* query) {
  switch (kind) {
    case CallKind::send:
      return table.send(sender, call, job);
    case CallKind::compose:
      return static_cast<const wb_compose*>(extension)->compose(sender, call, job);
    case CallKind::status:
      return static_cast<const wb_status*>(extension)->status(sender, call, job);
    case CallKind::probe:
      return static_cast<const wb_probe*>(extension)->probe(sender, call, job);
    case CallKind::failures:
      return static_cast<const wb_failures*>(extension)->list(sender, call, job, query);
  }
}

}  // namespace waybill::fake_host
