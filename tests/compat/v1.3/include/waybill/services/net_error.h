/* How a request of the HTTP or the SMTP service ended on the network. */
#ifndef WAYBILL_SERVICES_NET_ERROR_H
#define WAYBILL_SERVICES_NET_ERROR_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t wb_net_error;
enum {
  WB_NET_OK = 0,
  WB_NET_REFUSED = 1, /* not tried: bad URL, scheme or header, unknown secret, or address not allowed */
  WB_NET_RESOLVE = 2,
  WB_NET_CONNECT = 3,
  WB_NET_TLS = 4,
  WB_NET_TIMEOUT = 5,
  WB_NET_BROKEN = 6,   /* the connection broke, or the answer did not follow the protocol */
  WB_NET_CANCELLED = 7 /* aborted, or its call ended */
};

#ifdef __cplusplus
}
#endif
#endif
