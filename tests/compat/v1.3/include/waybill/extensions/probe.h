/* Extension "waybill.probe/1": whether a destination can be reached, without sending anything real (since minor 1). */
#ifndef WAYBILL_EXTENSIONS_PROBE_H
#define WAYBILL_EXTENSIONS_PROBE_H

#include "waybill/abi/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_PROBE_EXTENSION "waybill.probe/1"

typedef struct wb_probe {
  /* [strand] `job` has a destination and a target, and no payload. WB_ACCEPTED: the destination can be reached and would accept a
   * message (with these credentials, as far as that can be checked). Any other outcome names the obstacle. */
  void (*probe)(wb_sender* self, wb_call call, const wb_job* job);
} wb_probe;

#ifdef __cplusplus
}
#endif
#endif
