/* Freezes ABI version 1: the size of every struct, the place of every field, every number. If it compiles, all is well. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "waybill/plugin.h"

#define ADVICE                                                                                                              \
  ": ABI v1 is frozen. Add fields only at the end of structs that have `size` (without tail padding), raise WB_ABI_MINOR, " \
  "add the new lines here; a new ability is a new service or extension id; anything else is ABI v2 with a new symbol."
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type ADVICE)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field ADVICE)
#define VALUE(name, number) _Static_assert((name) == (number), #name ADVICE)
#define SAME(type, as) _Static_assert(_Generic((type)0, as : 1, default : 0), #type ADVICE)

_Static_assert(CHAR_BIT == 8 && sizeof(void*) == 8 && sizeof(size_t) == 8 && _Alignof(int64_t) == 8,
               "ABI v1 is laid out for 64-bit targets");
VALUE(WB_ABI_MAJOR, 1);
SAME(wb_verdict, int32_t);
SAME(wb_reach, int32_t);
SAME(wb_scope, int32_t);
SAME(wb_net_error, int32_t);
SAME(wb_plugin_entry, const wb_plugin* (*)(void));

SIZE(wb_str, 16);
AT(wb_str, ptr, 0);
AT(wb_str, len, 8);

SIZE(wb_call, 8);
AT(wb_call, id, 0);

SIZE(wb_outcome, 96);
AT(wb_outcome, size, 0);
AT(wb_outcome, verdict, 8);
AT(wb_outcome, reach, 12);
AT(wb_outcome, scope, 16);
AT(wb_outcome, code, 20);
AT(wb_outcome, retry_after_ms, 24);
AT(wb_outcome, reason, 32);
AT(wb_outcome, detail, 48);
AT(wb_outcome, provider_ref, 64);
AT(wb_outcome, result, 80);

SIZE(wb_job, 120);
AT(wb_job, size, 0);
AT(wb_job, attempt, 8);
AT(wb_job, maybe_sent_before, 12);
AT(wb_job, deadline_ms, 16);
AT(wb_job, action_id, 24);
AT(wb_job, target, 40);
AT(wb_job, idempotency_key, 56);
AT(wb_job, destination, 72);
AT(wb_job, payload, 88);
AT(wb_job, context, 104);

SIZE(wb_sender_vt, 32);
AT(wb_sender_vt, send, 0);
AT(wb_sender_vt, cancel, 8);
AT(wb_sender_vt, get_extension, 16);
AT(wb_sender_vt, destroy, 24);

SIZE(wb_reason, 24);
AT(wb_reason, name, 0);
AT(wb_reason, flags, 16);
AT(wb_reason, reserved, 20);

SIZE(wb_action, 96);
AT(wb_action, size, 0);
AT(wb_action, flags, 8);
AT(wb_action, reason_count, 12);
AT(wb_action, type, 16);
AT(wb_action, settings_schema, 32);
AT(wb_action, destination_schema, 48);
AT(wb_action, reasons, 64);
AT(wb_action, validate_settings, 72);
AT(wb_action, validate_destination, 80);
AT(wb_action, create, 88);

SIZE(wb_plugin, 64);
AT(wb_plugin, size, 0);
AT(wb_plugin, abi_minor, 8);
AT(wb_plugin, needs_minor, 12);
AT(wb_plugin, id, 16);
AT(wb_plugin, version, 32);
AT(wb_plugin, action_count, 48);
AT(wb_plugin, actions, 56);

SIZE(wb_field, 32);
AT(wb_field, key, 0);
AT(wb_field, value, 16);

SIZE(struct wb_host, 72);
AT(struct wb_host, size, 0);
AT(struct wb_host, abi_minor, 8);
AT(struct wb_host, reserved, 12);
AT(struct wb_host, name, 16);
AT(struct wb_host, version, 32);
AT(struct wb_host, get_service, 48);
AT(struct wb_host, complete, 56);
AT(struct wb_host, log, 64);

SIZE(wb_header, 32);
AT(wb_header, name, 0);
AT(wb_header, value, 16);

SIZE(wb_http_request, 80);
AT(wb_http_request, size, 0);
AT(wb_http_request, timeout_ms, 8);
AT(wb_http_request, max_response_bytes, 12);
AT(wb_http_request, method, 16);
AT(wb_http_request, url, 32);
AT(wb_http_request, headers, 48);
AT(wb_http_request, header_count, 56);
AT(wb_http_request, body, 64);

SIZE(wb_http_response, 80);
AT(wb_http_response, size, 0);
AT(wb_http_response, error, 8);
AT(wb_http_response, reach, 12);
AT(wb_http_response, status, 16);
AT(wb_http_response, truncated, 20);
AT(wb_http_response, retry_after_ms, 24);
AT(wb_http_response, headers, 32);
AT(wb_http_response, header_count, 40);
AT(wb_http_response, body, 48);
AT(wb_http_response, error_text, 64);

SIZE(wb_http_service, 16);
AT(wb_http_service, fetch, 0);
AT(wb_http_service, abort, 8);

SIZE(wb_timer_service, 32);
AT(wb_timer_service, monotonic_ms, 0);
AT(wb_timer_service, unix_seconds, 8);
AT(wb_timer_service, after, 16);
AT(wb_timer_service, cancel, 24);

SIZE(wb_sign_service, 8);
AT(wb_sign_service, hmac_sha256, 0);

VALUE(WB_ACCEPTED, 1);
VALUE(WB_REJECTED, 2);
VALUE(WB_TRANSIENT, 3);
VALUE(WB_DEFERRED, 4);
VALUE(WB_NOT_SENT, 1);
VALUE(WB_MAYBE_SENT, 2);
VALUE(WB_ANSWERED, 3);
VALUE(WB_THIS_JOB, 1);
VALUE(WB_WHOLE_TARGET, 2);
VALUE(WB_REASON_PERMANENT, 1);
VALUE(WB_REASON_DUPLICATE, 2);
VALUE(WB_BLOCKING, 1);
VALUE(WB_LOG_DEBUG, 1);
VALUE(WB_LOG_INFO, 2);
VALUE(WB_LOG_WARN, 3);
VALUE(WB_LOG_ERROR, 4);
VALUE(WB_NET_OK, 0);
VALUE(WB_NET_REFUSED, 1);
VALUE(WB_NET_RESOLVE, 2);
VALUE(WB_NET_CONNECT, 3);
VALUE(WB_NET_TLS, 4);
VALUE(WB_NET_TIMEOUT, 5);
VALUE(WB_NET_BROKEN, 6);
VALUE(WB_NET_CANCELLED, 7);
VALUE(WB_SIGN_OK, 0);
VALUE(WB_SIGN_UNKNOWN_SECRET, 1);

/* Text cannot be compared while compiling. */
int main(void) {
  if (strcmp(WB_HTTP_SERVICE, "waybill.http/1") != 0 || strcmp(WB_TIMER_SERVICE, "waybill.timer/1") != 0 ||
      strcmp(WB_SIGN_SERVICE, "waybill.sign/1") != 0) {
    puts("a service id changed" ADVICE);
    return 1;
  }
  puts("ABI v1 is laid out as it was frozen");
  return 0;
}
