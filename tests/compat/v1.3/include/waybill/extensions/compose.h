/* Extension "waybill.compose/1": make bytes once and send them in every attempt (since minor 1). */
#ifndef WAYBILL_EXTENSIONS_COMPOSE_H
#define WAYBILL_EXTENSIONS_COMPOSE_H

#include "waybill/abi/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_COMPOSE_EXTENSION "waybill.compose/1"

typedef struct wb_compose {
  /* [strand] Called before the first send of a delivery. Make the bytes and complete with WB_ACCEPTED and `artifact`; send
   * nothing. The host stores the artifact, then calls send with the same bytes in the job of every attempt. It composes again
   * only if a host died before the artifact was stored. Any other outcome ends the attempt, as if send had reported it. */
  void (*compose)(wb_sender* self, wb_call call, const wb_job* job);
} wb_compose;

#ifdef __cplusplus
}
#endif
#endif
