/* Service "waybill.secret/1": the values of secrets (since minor 4). An exception: what the host can do with a secret itself it
 * does itself, and a plugin needs no value for it (waybill.http/1, waybill.smtp/1, waybill.sign/2, waybill.oauth2/1). This is for
 * a plugin that speaks its destination's protocol itself, such as a driver of a database. */
#ifndef WAYBILL_SERVICES_SECRET_H
#define WAYBILL_SERVICES_SECRET_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_SECRET_SERVICE "waybill.secret/1"

enum {
  WB_SECRET_OK = 0,
  WB_SECRET_UNKNOWN = 1,    /* the host has no secret of this name */
  WB_SECRET_NOT_ALLOWED = 2 /* the operator did not list it in the action type's settings: `secrets: [name]` */
};

typedef struct wb_secret_service {
  /* [any] Calls `sink` with each value that is valid under this name, the newest first, before it returns. Ask again for each
   * call: a value may be replaced while the host runs. Keep no copy, log none, and put none into an outcome. */
  int32_t (*get)(const wb_host* host, wb_str name, void (*sink)(void* user, wb_str value), void* user);
} wb_secret_service;

#ifdef __cplusplus
}
#endif
#endif
