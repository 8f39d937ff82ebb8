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
SAME(wb_tls, int32_t);
SAME(wb_smtp_stage, int32_t);
SAME(wb_plugin_entry, const wb_plugin* (*)(void));

SIZE(wb_str, 16);
AT(wb_str, ptr, 0);
AT(wb_str, len, 8);

SIZE(wb_call, 8);
AT(wb_call, id, 0);

SIZE(wb_outcome, 128); /* 96 at minor 0 */
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
AT(wb_outcome, artifact_type, 96);
AT(wb_outcome, artifact, 112);

SIZE(wb_job, 184); /* 120 at minor 0, 168 at minor 1 */
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
AT(wb_job, artifact_type, 120);
AT(wb_job, artifact, 136);
AT(wb_job, provider_ref, 152);
AT(wb_job, progress, 168);

SIZE(wb_sender_vt, 32);
AT(wb_sender_vt, send, 0);
AT(wb_sender_vt, cancel, 8);
AT(wb_sender_vt, get_extension, 16);
AT(wb_sender_vt, destroy, 24);

SIZE(wb_reason, 24);
AT(wb_reason, name, 0);
AT(wb_reason, flags, 16);
AT(wb_reason, reserved, 20);

SIZE(wb_action, 112); /* 96 up to minor 3 */
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
AT(wb_action, payload_schema, 96);

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

SIZE(wb_http_request, 192); /* 80 up to minor 1, 112 at minor 2, 176 at minor 3 */
AT(wb_http_request, size, 0);
AT(wb_http_request, timeout_ms, 8);
AT(wb_http_request, max_response_bytes, 12);
AT(wb_http_request, method, 16);
AT(wb_http_request, url, 32);
AT(wb_http_request, headers, 48);
AT(wb_http_request, header_count, 56);
AT(wb_http_request, body, 64);
AT(wb_http_request, basic_user, 80);
AT(wb_http_request, basic_password, 96);
AT(wb_http_request, sigv4_region, 112);
AT(wb_http_request, sigv4_service, 128);
AT(wb_http_request, sigv4_key_id, 144);
AT(wb_http_request, sigv4_secret_key, 160);
AT(wb_http_request, body_secrets, 176);
AT(wb_http_request, body_secret_count, 184);
SIZE(wb_body_secret, 32);
AT(wb_body_secret, offset, 0);
AT(wb_body_secret, name, 8);
AT(wb_body_secret, form, 24);
AT(wb_body_secret, reserved, 28);

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
SIZE(wb_sign2_service, 8);
AT(wb_sign2_service, sign, 0);
SIZE(wb_secret_service, 8);
AT(wb_secret_service, get, 0);
SIZE(wb_oauth2_service, 16);
AT(wb_oauth2_service, find, 0);
AT(wb_oauth2_service, forget, 8);

SIZE(wb_smtp_message, 112);
AT(wb_smtp_message, size, 0);
AT(wb_smtp_message, timeout_ms, 8);
AT(wb_smtp_message, tls, 12);
AT(wb_smtp_message, relay, 16);
AT(wb_smtp_message, user, 32);
AT(wb_smtp_message, password, 48);
AT(wb_smtp_message, from, 64);
AT(wb_smtp_message, recipients, 80);
AT(wb_smtp_message, recipient_count, 88);
AT(wb_smtp_message, data, 96);

SIZE(wb_smtp_recipient, 24);
AT(wb_smtp_recipient, code, 0);
AT(wb_smtp_recipient, reserved, 4);
AT(wb_smtp_recipient, text, 8);

SIZE(wb_smtp_reply, 72);
AT(wb_smtp_reply, size, 0);
AT(wb_smtp_reply, error, 8);
AT(wb_smtp_reply, reach, 12);
AT(wb_smtp_reply, stage, 16);
AT(wb_smtp_reply, code, 20);
AT(wb_smtp_reply, text, 24);
AT(wb_smtp_reply, recipients, 40);
AT(wb_smtp_reply, recipient_count, 48);
AT(wb_smtp_reply, error_text, 56);

SIZE(wb_smtp_service, 16);
AT(wb_smtp_service, submit, 0);
AT(wb_smtp_service, abort, 8);

SIZE(wb_template_service, 16);
AT(wb_template_service, render, 0);
AT(wb_template_service, render_text, 8);

SIZE(wb_link_service, 8);
AT(wb_link_service, sign, 0);

SIZE(wb_counter_service, 8);
AT(wb_counter_service, add, 0);

SIZE(wb_compose, 8);
SIZE(wb_status, 8);
SIZE(wb_probe, 8);
SIZE(wb_failures, 8);

SIZE(wb_failure, 80);
AT(wb_failure, size, 0);
AT(wb_failure, failed_at, 8);
AT(wb_failure, provider_ref, 16);
AT(wb_failure, idempotency_key, 32);
AT(wb_failure, reason, 48);
AT(wb_failure, detail, 64);

SIZE(wb_failure_query, 56);
AT(wb_failure_query, size, 0);
AT(wb_failure_query, since, 8);
AT(wb_failure_query, page, 16);
AT(wb_failure_query, failure, 32);
AT(wb_failure_query, next_page, 40);
AT(wb_failure_query, user, 48);

/* The functions of every table, and those that a plugin gives, with all their types: a caller and a callee built years apart must
 * agree on them. */
#define FUNCTION(table, member, type) \
  _Static_assert(_Generic(((table*)0)->member, type : 1, default : 0), #table "." #member ADVICE)
typedef void (*begin_call)(wb_sender*, wb_call, const wb_job*);
FUNCTION(wb_sender_vt, send, begin_call);
FUNCTION(wb_sender_vt, cancel, void (*)(wb_sender*, wb_call));
FUNCTION(wb_sender_vt, get_extension, const void* (*)(wb_sender*, wb_str));
FUNCTION(wb_sender_vt, destroy, void (*)(wb_sender*));
SAME(wb_report, void (*)(void*, wb_str, wb_str));
FUNCTION(wb_action, validate_settings, int32_t (*)(wb_str, wb_report, void*));
FUNCTION(wb_action, validate_destination, int32_t (*)(wb_str, wb_report, void*));
FUNCTION(wb_action, create, wb_sender* (*)(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*));
FUNCTION(wb_host, get_service, const void* (*)(const wb_host*, wb_str));
FUNCTION(wb_host, complete, int32_t (*)(const wb_host*, wb_call, const wb_outcome*));
FUNCTION(wb_host, log, void (*)(const wb_host*, wb_call, int32_t, wb_str, const wb_field*, size_t));
SAME(wb_http_done, void (*)(void*, const wb_http_response*));
FUNCTION(wb_http_service, fetch, uint64_t (*)(const wb_host*, wb_call, const wb_http_request*, wb_http_done, void*));
FUNCTION(wb_http_service, abort, void (*)(const wb_host*, uint64_t));
FUNCTION(wb_timer_service, monotonic_ms, int64_t (*)(const wb_host*));
FUNCTION(wb_timer_service, unix_seconds, int64_t (*)(const wb_host*));
FUNCTION(wb_timer_service, after, uint64_t (*)(const wb_host*, wb_call, int64_t, void (*)(void*), void*));
FUNCTION(wb_timer_service, cancel, void (*)(const wb_host*, uint64_t));
FUNCTION(wb_sign_service, hmac_sha256,
         int32_t (*)(const wb_host*, wb_str, const wb_str*, size_t, void (*)(void*, const uint8_t*, size_t), void*));
FUNCTION(wb_sign2_service, sign,
         int32_t (*)(const wb_host*, wb_sign_algorithm, wb_str, const wb_str*, size_t, void (*)(void*, const uint8_t*, size_t),
                     void*));
FUNCTION(wb_secret_service, get, int32_t (*)(const wb_host*, wb_str, void (*)(void*, wb_str), void*));
FUNCTION(wb_oauth2_service, find, int32_t (*)(const wb_host*, wb_str));
FUNCTION(wb_oauth2_service, forget, int32_t (*)(const wb_host*, wb_str));
SAME(wb_smtp_done, void (*)(void*, const wb_smtp_reply*));
FUNCTION(wb_smtp_service, submit, uint64_t (*)(const wb_host*, wb_call, const wb_smtp_message*, wb_smtp_done, void*));
FUNCTION(wb_smtp_service, abort, void (*)(const wb_host*, uint64_t));
SAME(wb_template_part, void (*)(void*, wb_str, wb_str));
FUNCTION(wb_template_service, render, int32_t (*)(const wb_host*, wb_str, wb_str, wb_template_part, void*));
FUNCTION(wb_template_service, render_text, int32_t (*)(const wb_host*, wb_str, wb_str, wb_template_part, void*));
FUNCTION(wb_link_service, sign, int32_t (*)(const wb_host*, wb_str, int64_t, void (*)(void*, wb_str), void*));
FUNCTION(wb_counter_service, add, int32_t (*)(const wb_host*, wb_str, uint64_t));
FUNCTION(wb_compose, compose, begin_call);
FUNCTION(wb_status, status, begin_call);
FUNCTION(wb_probe, probe, begin_call);
FUNCTION(wb_failures, list, void (*)(wb_sender*, wb_call, const wb_job*, const wb_failure_query*));
FUNCTION(wb_failure_query, failure, void (*)(void*, const wb_failure*));
FUNCTION(wb_failure_query, next_page, void (*)(void*, wb_str));

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
VALUE(WB_TLS_IF_OFFERED, 0);
VALUE(WB_TLS_REQUIRED, 1);
VALUE(WB_TLS_NEVER, 2);
VALUE(WB_SMTP_NONE, 0);
VALUE(WB_SMTP_CONNECT, 1);
VALUE(WB_SMTP_AUTH, 2);
VALUE(WB_SMTP_MAIL, 3);
VALUE(WB_SMTP_RCPT, 4);
VALUE(WB_SMTP_DATA, 5);
VALUE(WB_MOST_ARTIFACT_BYTES, 1048576);
VALUE(WB_TEMPLATE_OK, 0);
VALUE(WB_TEMPLATE_UNKNOWN, 1);
VALUE(WB_TEMPLATE_MALFORMED, 2);
VALUE(WB_LINK_OK, 0);
VALUE(WB_LINK_UNAVAILABLE, 1);
VALUE(WB_LINK_INVALID, 2);
VALUE(WB_MOST_COUNTERS, 64);
VALUE(WB_COUNTER_OK, 0);
VALUE(WB_COUNTER_BAD_NAME, 1);
VALUE(WB_COUNTER_TOO_MANY, 2);
VALUE(WB_SIGN_OK, 0);
VALUE(WB_SIGN_UNKNOWN_SECRET, 1);

/* Text cannot be compared while compiling. */
int main(void) {
  static const char* const ids[][2] = {
      {WB_HTTP_SERVICE, "waybill.http/1"},         {WB_TIMER_SERVICE, "waybill.timer/1"},
      {WB_SIGN_SERVICE, "waybill.sign/1"},         {WB_SIGN2_SERVICE, "waybill.sign/2"},
      {WB_SECRET_SERVICE, "waybill.secret/1"},     {WB_OAUTH2_SERVICE, "waybill.oauth2/1"},
      {WB_SMTP_SERVICE, "waybill.smtp/1"},         {WB_TEMPLATE_SERVICE, "waybill.template/1"},
      {WB_LINK_SERVICE, "waybill.link/1"},         {WB_COUNTER_SERVICE, "waybill.counter/1"},
      {WB_COMPOSE_EXTENSION, "waybill.compose/1"}, {WB_STATUS_EXTENSION, "waybill.status/1"},
      {WB_PROBE_EXTENSION, "waybill.probe/1"},     {WB_FAILURES_EXTENSION, "waybill.failures/1"}};
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; ++i) {
    if (strcmp(ids[i][0], ids[i][1]) == 0) continue;
    puts("the id of a service or an extension changed" ADVICE);
    return 1;
  }
  puts("ABI v1 is laid out as it was frozen");
  return 0;
}
