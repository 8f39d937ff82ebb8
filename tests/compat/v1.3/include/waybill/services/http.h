/* Service "waybill.http/1": asynchronous HTTP. */
#ifndef WAYBILL_SERVICES_HTTP_H
#define WAYBILL_SERVICES_HTTP_H

#include "waybill/abi/outcome.h"
#include "waybill/services/net_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WB_HTTP_SERVICE "waybill.http/1"

typedef struct wb_header {
  wb_str name;
  wb_str value;
} wb_header;

typedef struct wb_http_request {
  size_t size;
  uint32_t timeout_ms;         /* 0: until the call's deadline; never longer */
  uint32_t max_response_bytes; /* the body is read up to this; 0: the default of 4,096 */
  wb_str method;               /* "POST" */
  wb_str url;                  /* http or https */
  const wb_header* headers;    /* the host replaces {secret:NAME} in values on the way out, which needs https, as basic_user does,
                                * unless the operator wrote `insecure: true` */
  size_t header_count;
  wb_str body;
  /* since minor 2: Basic authentication (RFC 7617). Both are NAMES of the host's secrets; both empty: none */
  wb_str basic_user;
  wb_str basic_password;
  /* since minor 3: AWS Signature Version 4. All empty: none. Key and secret are NAMES of the host's secrets. The host adds
   * X-Amz-Date and Authorization, and signs them with Host, the other headers and the body. The URL's path and query must be in
   * canonical form already. A session token is a header like any other: "X-Amz-Security-Token: {secret:NAME}". */
  wb_str sigv4_region;  /* "eu-west-2" */
  wb_str sigv4_service; /* the service's name in the credential scope */
  wb_str sigv4_key_id;
  wb_str sigv4_secret_key;
} wb_http_request;

/* Borrowed until `done` returns. */
typedef struct wb_http_response {
  size_t size;
  wb_net_error error;
  wb_reach reach;           /* as the host saw it on the wire */
  int32_t status;           /* HTTP status, 0 if none came */
  uint32_t truncated;       /* 1: the body was longer than max_response_bytes */
  int64_t retry_after_ms;   /* from Retry-After (seconds or date), -1 if there was none */
  const wb_header* headers; /* names in lower case */
  size_t header_count;
  wb_str body;
  wb_str error_text; /* one line for people, without secrets */
} wb_http_response;

typedef void (*wb_http_done)(void* user, const wb_http_response* response);

typedef struct wb_http_service {
  /* [strand] Begin a request for an open call; returns an id for abort. The host copies the request. It calls `done` exactly
   * once, on the strand, never before fetch returns. It follows no redirects and uses no proxy. */
  uint64_t (*fetch)(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  /* [strand] End a request early. Its `done` is still called, with WB_NET_CANCELLED. Unknown ids are ignored. */
  void (*abort)(const wb_host* host, uint64_t fetch_id);
} wb_http_service;

#ifdef __cplusplus
}
#endif
#endif
