/* Extension "waybill.status/1": what happened to a delivery after the destination accepted it (since minor 1). */
#ifndef WAYBILL_EXTENSIONS_STATUS_H
#define WAYBILL_EXTENSIONS_STATUS_H

#include "waybill/abi/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_STATUS_EXTENSION "waybill.status/1"

typedef struct wb_status {
  /* [strand] Ask the destination about job->provider_ref (or job->idempotency_key, if it uses that); change nothing there.
   * WB_ACCEPTED: it arrived. WB_REJECTED: it failed for good, `reason` says why. WB_DEFERRED: it is still under way.
   * WB_TRANSIENT: no usable answer. */
  void (*status)(wb_sender* self, wb_call call, const wb_job* job);
} wb_status;

#ifdef __cplusplus
}
#endif
#endif
