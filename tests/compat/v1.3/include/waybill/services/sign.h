/* Service "waybill.sign/1": signatures with the host's secrets. */
#ifndef WAYBILL_SERVICES_SIGN_H
#define WAYBILL_SERVICES_SIGN_H

#include "waybill/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_SIGN_SERVICE "waybill.sign/1"

enum { WB_SIGN_OK = 0, WB_SIGN_UNKNOWN_SECRET = 1 };

typedef struct wb_sign_service {
  /* [any] HMAC-SHA256 of the concatenated parts, with each secret that is valid under this name: two during a rotation, the
   * newer first. Calls `sink` with 32 bytes for each before it returns. A secret of the form "whsec_" + base64 is decoded
   * first. Returns WB_SIGN_OK or WB_SIGN_UNKNOWN_SECRET. */
  int32_t (*hmac_sha256)(const wb_host* host, wb_str secret_name, const wb_str* parts, size_t part_count,
                         void (*sink)(void* user, const uint8_t* mac, size_t mac_size), void* user);
} wb_sign_service;

#ifdef __cplusplus
}
#endif
#endif
