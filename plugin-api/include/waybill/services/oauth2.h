/* Service "waybill.oauth2/1": access tokens (since minor 4). The operator configures clients by name (`oauth2` in waybill.yaml).
 * The host gets a client's token, keeps it until shortly before its end, and replaces {oauth2:NAME} in a header's value with it,
 * as waybill.http/1 does with {secret:NAME}:
 *
 *   Authorization: Bearer {oauth2:crm}
 *
 * A request that gets no token is not sent (WB_NOT_SENT). If the token endpoint refused the client, its response has the status
 * 401; if the endpoint answered something else, 503; if it could not be reached, the error of that. After a 401 of the
 * destination the host gets a new token for the next request. */
#ifndef WAYBILL_SERVICES_OAUTH2_H
#define WAYBILL_SERVICES_OAUTH2_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_OAUTH2_SERVICE "waybill.oauth2/1"

enum { WB_OAUTH2_OK = 0, WB_OAUTH2_UNKNOWN_CLIENT = 1 };

typedef struct wb_oauth2_service {
  /* [any] Whether the operator configured a client of this name. */
  int32_t (*find)(const wb_host* host, wb_str client);
  /* [any] The client's token is not used again: a destination that does not answer 401 refused it. */
  int32_t (*forget)(const wb_host* host, wb_str client);
} wb_oauth2_service;

#ifdef __cplusplus
}
#endif
#endif
