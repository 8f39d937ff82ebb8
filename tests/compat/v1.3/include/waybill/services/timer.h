/* Service "waybill.timer/1": clocks and timers that tests can control. */
#ifndef WAYBILL_SERVICES_TIMER_H
#define WAYBILL_SERVICES_TIMER_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_TIMER_SERVICE "waybill.timer/1"

typedef struct wb_timer_service {
  /* [any] Milliseconds on a monotonic clock; only differences have a meaning. */
  int64_t (*monotonic_ms)(const wb_host* host);
  /* [any] Seconds since 1970-01-01 UTC, for timestamps in protocols. */
  int64_t (*unix_seconds)(const wb_host* host);
  /* [strand] Call `fire` once on the strand, after `delay_ms` or later, never before `after` returns. Returns an id for cancel.
   * The host drops the timer when its call ends. */
  uint64_t (*after)(const wb_host* host, wb_call call, int64_t delay_ms, void (*fire)(void* user), void* user);
  /* [strand] Drop a timer; it will not fire. Unknown ids are ignored. */
  void (*cancel)(const wb_host* host, uint64_t timer_id);
} wb_timer_service;

#ifdef __cplusplus
}
#endif
#endif
