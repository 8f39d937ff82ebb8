/* Sender: what an action creates from the operator's settings, and what sends its jobs. */
#ifndef WAYBILL_ABI_SENDER_H
#define WAYBILL_ABI_SENDER_H

#include "waybill/abi/job.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_sender_vt {
  /* [strand] Begin one attempt. Complete every call exactly once through wb_host::complete, from any thread, possibly before
   * send returns. The host ends a call that is silent past its deadline: transient, maybe sent. */
  void (*send)(wb_sender* self, wb_call call, const wb_job* job);
  /* [strand] Abort this call if possible, and complete it soon. Never called for a completed call. */
  void (*cancel)(wb_sender* self, wb_call call);
  /* [strand] Return the table of an optional ability (waybill/extensions/), or null. */
  const void* (*get_extension)(wb_sender* self, wb_str id);
  /* [strand] The last call: the sender has no open call, fetch or timer. */
  void (*destroy)(wb_sender* self);
} wb_sender_vt;

#ifdef __cplusplus
}
#endif
#endif
