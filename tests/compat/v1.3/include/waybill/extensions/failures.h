/* Extension "waybill.failures/1": what the destination accepted and then failed to deliver (since minor 1). */
#ifndef WAYBILL_EXTENSIONS_FAILURES_H
#define WAYBILL_EXTENSIONS_FAILURES_H

#include "waybill/abi/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_FAILURES_EXTENSION "waybill.failures/1"

/* Borrowed by the host until wb_failure_query::failure returns. */
typedef struct wb_failure {
  size_t size;
  int64_t failed_at;      /* seconds since 1970-01-01 UTC, 0 if unknown */
  wb_str provider_ref;    /* the destination's own id */
  wb_str idempotency_key; /* ours, if the destination keeps it */
  wb_str reason;          /* a short word, such as "permanent_failure" */
  wb_str detail;          /* one line for people; never a secret */
} wb_failure;

/* Lives until its call is completed. */
typedef struct wb_failure_query {
  size_t size;
  int64_t since; /* seconds since 1970-01-01 UTC: list failures from then on */
  wb_str page;   /* empty for the first page; then what the previous page passed to next_page */
  /* [strand] Call while the call is open: `failure` for each failure of this page; `next_page` with a name for the next page,
   * if there is one. */
  void (*failure)(void* user, const wb_failure* failure);
  void (*next_page)(void* user, wb_str page);
  void* user;
} wb_failure_query;

typedef struct wb_failures {
  /* [strand] List one page of failures of the job's destination. `job` has no payload. WB_ACCEPTED: the page is complete. */
  void (*list)(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query);
} wb_failures;

#ifdef __cplusplus
}
#endif
#endif
