/* A plugin in C of the first day of ABI 1: posts the payload with a signature, a time and its key. Built with the headers beside
 * it and nothing else, and loaded by every later host.
 *
 *   2xx accepted, result = the answer; 409 rejected already_seen; other 4xx rejected invalid_request; no answer transient
 * network; any other answer transient busy, told 5 ms later so that a timer has run. Cancelled while it waits for that: transient
 * cancelled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waybill/plugin.h>

#define STR(text) \
  { text, sizeof(text) - 1 }

typedef struct poster poster;

typedef struct open_call {
  poster* owner;
  wb_call call;
  uint64_t fetch;
  uint64_t timer;
  wb_outcome outcome; /* said when the timer rings; its strings are constants */
  struct open_call* next;
} open_call;

struct poster {
  const wb_host* host;
  const wb_http_service* http;
  const wb_timer_service* timers;
  const wb_sign_service* sign;
  open_call* open;
};

static wb_str str(const char* text) {
  wb_str out = {text, strlen(text)};
  return out;
}

static wb_outcome outcome(wb_verdict verdict, wb_reach reach, int32_t code, const char* reason) {
  wb_outcome out;
  memset(&out, 0, sizeof out);
  out.size = sizeof out;
  out.verdict = verdict;
  out.reach = reach;
  out.scope = WB_THIS_JOB;
  out.code = code;
  out.retry_after_ms = -1;
  out.reason = str(reason);
  return out;
}

static void end(open_call* open, const wb_outcome* said) {
  poster* self = open->owner;
  open_call** link = &self->open;
  while (*link != open) link = &(*link)->next;
  *link = open->next;
  self->host->complete(self->host, open->call, said);
  free(open);
}

static void rang(void* user) {
  open_call* open = user;
  end(open, &open->outcome);
}

static void answered(void* user, const wb_http_response* response) {
  open_call* open = user;
  poster* self = open->owner;
  wb_outcome said;
  open->fetch = 0;
  if (response->error != WB_NET_OK) {
    said = outcome(WB_TRANSIENT, response->reach, 0, "network");
    said.detail = response->error_text;
  } else if (response->status / 100 == 2) {
    said = outcome(WB_ACCEPTED, response->reach, response->status, "");
    said.result = response->body;
  } else if (response->status / 100 == 4) {
    said = outcome(WB_REJECTED, response->reach, response->status, response->status == 409 ? "already_seen" : "invalid_request");
  } else {
    open->outcome = outcome(WB_TRANSIENT, response->reach, response->status, "busy");
    open->outcome.retry_after_ms = response->retry_after_ms;
    open->timer = self->timers->after(self->host, open->call, 5, &rang, open);
    return;
  }
  end(open, &said);
}

static void write_hex(void* user, const uint8_t* mac, size_t size) {
  char* hex = user;
  size_t i;
  for (i = 0; i < size && i < 32; ++i) sprintf(hex + 2 * i, "%02x", mac[i]);
}

static void send(wb_sender* sender, wb_call call, const wb_job* job) {
  poster* self = (poster*)sender;
  static const wb_field fields[] = {{STR("step"), STR("posting")}};
  char signature[65] = "unsigned", seconds[32];
  wb_header headers[4] = {
      {STR("X-Key"), {0, 0}}, {STR("X-Signature"), {0, 0}}, {STR("X-Time"), {0, 0}}, {STR("X-Secret"), STR("{secret:compat}")}};
  wb_http_request request;
  size_t i = 0;
  open_call* open = calloc(1, sizeof *open);
  open->owner = self;
  open->call = call;
  open->next = self->open;
  self->open = open;

  self->sign->hmac_sha256(self->host, str("compat"), &job->payload, 1, &write_hex, signature);
  sprintf(seconds, "%lld", (long long)self->timers->unix_seconds(self->host));
  headers[0].value = job->idempotency_key;
  headers[1].value = str(signature);
  headers[2].value = str(seconds);
  memset(&request, 0, sizeof request);
  request.size = sizeof request;
  request.method = str("POST");
  while (i < job->destination.len && job->destination.ptr[i] != 'h') ++i; /* {"url":"http://..."} is all there is */
  request.url.ptr = job->destination.ptr + i;
  while (i + request.url.len < job->destination.len && request.url.ptr[request.url.len] != '"') ++request.url.len;
  request.headers = headers;
  request.header_count = 4;
  request.body = job->payload;
  self->host->log(self->host, call, WB_LOG_INFO, str("compat"), fields, 1);
  open->fetch = self->http->fetch(self->host, call, &request, &answered, open);
}

static void cancel(wb_sender* sender, wb_call call) {
  poster* self = (poster*)sender;
  open_call* open = self->open;
  while (open && open->call.id != call.id) open = open->next;
  if (!open) return;
  if (open->fetch) {
    self->http->abort(self->host, open->fetch);
  } else {
    wb_outcome said = outcome(WB_TRANSIENT, open->outcome.reach, open->outcome.code, "cancelled");
    self->timers->cancel(self->host, open->timer);
    end(open, &said);
  }
}

static const void* get_extension(wb_sender* sender, wb_str id) {
  (void)sender;
  (void)id;
  return NULL;
}

static void destroy(wb_sender* sender) { free(sender); }

static const wb_sender_vt kTable = {&send, &cancel, &get_extension, &destroy};

static wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
  poster* self = calloc(1, sizeof *self);
  (void)settings;
  self->host = host;
  self->http = host->get_service(host, str(WB_HTTP_SERVICE));
  self->timers = host->get_service(host, str(WB_TIMER_SERVICE));
  self->sign = host->get_service(host, str(WB_SIGN_SERVICE));
  if (!self->http || !self->timers || !self->sign) {
    report(user, str(""), str("a service is missing"));
    free(self);
    return NULL;
  }
  *vt = &kTable;
  return (wb_sender*)self;
}

static int32_t validate(wb_str destination, wb_report report, void* user) {
  if (destination.len < 4096) return 0;
  report(user, str("/url"), str("is too long"));
  return 1;
}

static const wb_reason kReasons[] = {{STR("invalid_request"), WB_REASON_PERMANENT, 0},
                                     {STR("already_seen"), WB_REASON_DUPLICATE, 0}};
static const wb_action kAction = {sizeof(wb_action), 0,    2,         STR("compat_c"), {0, 0}, STR("{\"type\":\"object\"}"),
                                  kReasons,          NULL, &validate, &create};
static const wb_action* const kActions[] = {&kAction};
static const wb_plugin kPlugin = {sizeof(wb_plugin), WB_ABI_MINOR, 0, STR("org.example.compat.c"), STR("1.0"), 1, kActions};

const wb_plugin* wb_plugin_v1(void) { return &kPlugin; }
