/* Outcome: what a plugin reports of one attempt. */
#ifndef WAYBILL_ABI_OUTCOME_H
#define WAYBILL_ABI_OUTCOME_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t wb_verdict; /* any other value counts as WB_TRANSIENT */
enum {
  WB_ACCEPTED = 1,  /* the destination took responsibility */
  WB_REJECTED = 2,  /* the destination refused; `reason` says why */
  WB_TRANSIENT = 3, /* no usable answer; may be tried again */
  WB_DEFERRED = 4   /* nothing to do, by the operator's choice (such as no credentials). A form's action ends with it; for an
                       intent it counts as an attempt, and the contract decides on a retry */
};

typedef int32_t wb_reach; /* how far the request got; any other value counts as WB_MAYBE_SENT */
enum {
  WB_NOT_SENT = 1,   /* no byte of the request left: a retry cannot duplicate */
  WB_MAYBE_SENT = 2, /* unknown */
  WB_ANSWERED = 3    /* the destination answered */
};

typedef int32_t wb_scope; /* what failed; any other value counts as WB_THIS_JOB */
enum {
  WB_THIS_JOB = 1,
  WB_WHOLE_TARGET = 2 /* an outage, or bad credentials: the target cools down */
};

/* Borrowed by the host until wb_host::complete returns. */
typedef struct wb_outcome {
  size_t size;
  wb_verdict verdict;
  wb_reach reach;
  wb_scope scope;
  int32_t code;           /* the protocol's own status (an HTTP status, an SMTP reply), 0 if there was none */
  int64_t retry_after_ms; /* the destination's minimum wait before a retry; -1 if it named none */
  wb_str reason;          /* for WB_REJECTED a declared reason of the action; else a short word such as "invalid_answer" */
  wb_str detail;          /* one line for people, cut at 1,000 bytes; never a secret */
  wb_str provider_ref;    /* the destination's id of what it accepted, if it returned one */
  wb_str result;          /* JSON, recorded with the end; of a transient outcome: wb_job::progress of the next attempt */
  /* since minor 1 */
  wb_str artifact_type; /* of an accepted compose: the media type of the artifact */
  wb_str artifact;      /* of an accepted compose: 1 to WB_MOST_ARTIFACT_BYTES bytes */
} wb_outcome;

#define WB_MOST_ARTIFACT_BYTES (1 << 20)

#ifdef __cplusplus
}
#endif
#endif
