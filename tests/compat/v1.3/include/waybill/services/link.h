/* Service "waybill.link/1": time-limited URLs of stored objects (since minor 2). */
#ifndef WAYBILL_SERVICES_LINK_H
#define WAYBILL_SERVICES_LINK_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_LINK_SERVICE "waybill.link/1"

enum { WB_LINK_OK = 0, WB_LINK_UNAVAILABLE = 1, WB_LINK_INVALID = 2 };

typedef struct wb_link_service {
  /* [any] Sign a URL that gives access to the object ("gs://bucket/key") for `ttl_seconds`, at most seven days. With WB_LINK_OK
   * `sink` was called once. WB_LINK_UNAVAILABLE: this host has no key. WB_LINK_INVALID: unsupported object or time. */
  int32_t (*sign)(const wb_host* host, wb_str object_uri, int64_t ttl_seconds, void (*sink)(void* user, wb_str url), void* user);
} wb_link_service;

#ifdef __cplusplus
}
#endif
#endif
