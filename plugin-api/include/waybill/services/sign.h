/* Services "waybill.sign/1" and "waybill.sign/2" (since minor 4): signatures with the host's secrets. */
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

#define WB_SIGN2_SERVICE "waybill.sign/2"

enum { WB_SIGN_WRONG_KEY = 2 };

typedef int32_t wb_sign_algorithm;
enum {
  WB_SIGN_RSA_SHA256 = 1,       /* RSASSA-PKCS1-v1_5 with SHA-256: RS256 of a JWT */
  WB_SIGN_ECDSA_P256_SHA256 = 2 /* on P-256 with SHA-256; r and s, 32 bytes each: ES256 of a JWT */
};

typedef struct wb_sign2_service {
  /* [any] A signature of the concatenated parts (64 at most) with the newest secret of this name: a private key in PEM, or a
   * service account in JSON, whose private_key counts. Calls `sink` once before it returns. Returns WB_SIGN_OK,
   * WB_SIGN_UNKNOWN_SECRET, or WB_SIGN_WRONG_KEY if the secret is no key of this algorithm or the algorithm is unknown. */
  int32_t (*sign)(const wb_host* host, wb_sign_algorithm algorithm, wb_str secret_name, const wb_str* parts, size_t part_count,
                  void (*sink)(void* user, const uint8_t* signature, size_t signature_size), void* user);
} wb_sign2_service;

#ifdef __cplusplus
}
#endif
#endif
