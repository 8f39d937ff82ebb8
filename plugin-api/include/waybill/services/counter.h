/* Service "waybill.counter/1": counters of a plugin's own in the host's metrics (since minor 4). */
#ifndef WAYBILL_SERVICES_COUNTER_H
#define WAYBILL_SERVICES_COUNTER_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_COUNTER_SERVICE "waybill.counter/1"

/* The most names that the action types of one host may use, each for itself. */
#define WB_MOST_COUNTERS 64

enum { WB_COUNTER_OK = 0, WB_COUNTER_BAD_NAME = 1, WB_COUNTER_TOO_MANY = 2 };

typedef struct wb_counter_service {
  /* [any] Add `by` to a counter of this action type. /metrics shows it as submission_plugin_count_total{action_type,name}. A name
   * is [a-z][a-z0-9_]*, at most 64 bytes, and one of few: never an id, an address or another text from outside. Returns
   * WB_COUNTER_OK; else nothing was counted: the name is malformed, or the action type has WB_MOST_COUNTERS others already. */
  int32_t (*add)(const wb_host* host, wb_str name, uint64_t by);
} wb_counter_service;

#ifdef __cplusplus
}
#endif
#endif
