/* Job: what to send. It lives until its call is completed. */
#ifndef WAYBILL_ABI_JOB_H
#define WAYBILL_ABI_JOB_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wb_job {
  size_t size;
  uint32_t attempt;           /* 1 for the first */
  uint32_t maybe_sent_before; /* 1 if an earlier attempt may have reached the destination */
  int64_t deadline_ms;        /* how long this attempt may take, from the call of send */
  wb_str action_id;           /* the delivery's id, for logs */
  wb_str target;              /* the registry's name of the target */
  wb_str idempotency_key;     /* the same in every attempt of this delivery; at most 128 bytes of printable ASCII */
  wb_str destination;         /* JSON object, checked by validate_destination: {"url": ..., further fields of the target} */
  wb_str payload;             /* the client's bytes, unchanged; empty if there were none */
  wb_str context;             /* JSON object: {"org", "kind", "reference"}, and more for other kinds of submission */
  /* since minor 1 */
  wb_str artifact_type; /* with "waybill.compose/1": what compose made of this delivery, the same in every send */
  wb_str artifact;
  wb_str provider_ref; /* for "waybill.status/1": the provider_ref of the accepted attempt */
  /* since minor 2 */
  wb_str progress; /* JSON: the latest `result` of a transient outcome of this delivery; empty if none */
} wb_job;

#ifdef __cplusplus
}
#endif
#endif
