/* Host: what a sender may call. */
#ifndef WAYBILL_ABI_HOST_H
#define WAYBILL_ABI_HOST_H

#include "waybill/abi/outcome.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One field of a log event. */
typedef struct wb_field {
  wb_str key;
  wb_str value;
} wb_field;

enum { WB_LOG_DEBUG = 1, WB_LOG_INFO = 2, WB_LOG_WARN = 3, WB_LOG_ERROR = 4 };

struct wb_host {
  size_t size;
  uint32_t abi_minor; /* of the host; at least the plugin's needs_minor */
  uint32_t reserved;  /* 0 */
  wb_str name;        /* "waybill" */
  wb_str version;
  /* [any] Return a service (waybill/services/) by id, or null if this host does not have it. */
  const void* (*get_service)(const wb_host* host, wb_str id);
  /* [any] Complete a call. Returns 0; or 1 if the call is unknown or has ended, which is only logged. */
  int32_t (*complete)(const wb_host* host, wb_call call, const wb_outcome* outcome);
  /* [any] Write one log event. The host adds plugin, action type and call. `call.id` 0: about no call. */
  void (*log)(const wb_host* host, wb_call call, int32_t level, wb_str text, const wb_field* fields, size_t field_count);
};

#ifdef __cplusplus
}
#endif
#endif
