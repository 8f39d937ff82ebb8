/* Action type my_destination: posts the payload as it is to an HTTP API that takes JSON. */
#include <stdlib.h>
#include <string.h>

#include "waybill/plugin.h"

#define STR(text) \
  { text, sizeof(text) - 1 }

/* What a target in targets.json says: its gatewayUrl, which is "url" here. The host holds it against this schema. */
#define DESTINATION                                                             \
  "{\"type\":\"object\",\"required\":[\"url\"],\"additionalProperties\":false," \
  "\"properties\":{\"url\":{\"type\":\"string\",\"minLength\":1}},"             \
  "\"examples\":[{\"url\":\"https://api.example.org/messages\"}]}"

/* Why the receiver may refuse for good. A target's terminalOutcomes may list these, and a rejection must give one of them. */
static const wb_reason kReasons[] = {{STR("not_found"), WB_REASON_PERMANENT, 0},
                                     {STR("invalid_request"), WB_REASON_PERMANENT, 0}};

/* A call that waits for its answer. */
typedef struct open_call {
  struct wb_sender* owner;
  wb_call call;
  uint64_t fetch;
  struct open_call* next;
} open_call;

struct wb_sender {
  const wb_host* host;
  const wb_http_service* http;
  open_call* open;
};

static wb_str str(const char* text) {
  wb_str out = {text, strlen(text)};
  return out;
}

static wb_outcome outcome(wb_verdict verdict, wb_reach reach, const char* reason) {
  wb_outcome out;
  memset(&out, 0, sizeof out);
  out.size = sizeof out;
  out.verdict = verdict;
  out.reach = reach;
  out.scope = WB_THIS_JOB;
  out.retry_after_ms = -1;
  out.reason = str(reason);
  return out;
}

static const char* word_for(wb_net_error error) {
  switch (error) {
    case WB_NET_REFUSED:
      return "refused_by_host";
    case WB_NET_RESOLVE:
      return "resolve_failed";
    case WB_NET_CONNECT:
      return "connect_failed";
    case WB_NET_TLS:
      return "tls_failed";
    case WB_NET_TIMEOUT:
      return "timeout";
    case WB_NET_CANCELLED:
      return "cancelled";
    default:
      return "connection_broken";
  }
}

/* What this API says in a way of its own goes here. */
static wb_outcome judge(const wb_http_response* response) {
  const int status = response->status;
  wb_outcome said;
  if (response->error != WB_NET_OK) {
    said = outcome(WB_TRANSIENT, response->reach, word_for(response->error));
    if (response->error >= WB_NET_REFUSED && response->error <= WB_NET_TLS) said.scope = WB_WHOLE_TARGET; /* no connection */
    said.detail = response->error_text;
    return said;
  }
  if (status / 100 == 2) {
    said = outcome(WB_ACCEPTED, response->reach, "");
  } else if (status == 401 || status == 403) {
    said = outcome(WB_TRANSIENT, response->reach, "unauthorized");
    said.scope = WB_WHOLE_TARGET;
  } else if (status == 429 || status == 503) {
    said = outcome(WB_TRANSIENT, response->reach, status == 429 ? "try_later" : "server_error");
    said.scope = WB_WHOLE_TARGET;
  } else if (status == 408 || status == 425) {
    said = outcome(WB_TRANSIENT, response->reach, "try_later");
  } else if (status == 404) {
    said = outcome(WB_REJECTED, response->reach, "not_found");
  } else if (status / 100 == 4) {
    said = outcome(WB_REJECTED, response->reach, "invalid_request");
  } else {
    said = outcome(WB_TRANSIENT, response->reach, status / 100 == 5 ? "server_error" : "invalid_answer");
  }
  said.code = status;
  said.retry_after_ms = response->retry_after_ms;
  return said;
}

/* The answer came, or the end of the request: complete the call, exactly once. */
static void answered(void* user, const wb_http_response* response) {
  open_call* open = user;
  struct wb_sender* self = open->owner;
  open_call** link = &self->open;
  const wb_outcome said = judge(response);
  while (*link != open) link = &(*link)->next;
  *link = open->next;
  self->host->complete(self->host, open->call, &said);
  free(open);
}

/* The destination is {"url": "..."}, as the schema says. NULL: out of memory. */
static char* url_in(wb_str destination) {
  char* url = malloc(destination.len + 1);
  size_t i = 0, length = 0;
  if (!url) return NULL;
  while (i < destination.len && destination.ptr[i] != ':') ++i;
  while (i < destination.len && destination.ptr[i] != '"') ++i;
  for (++i; i < destination.len && destination.ptr[i] != '"'; ++i) {
    if (destination.ptr[i] == '\\' && i + 1 < destination.len) ++i;
    url[length++] = destination.ptr[i];
  }
  url[length] = '\0';
  return url;
}

/* Begin one attempt. Do not block: the answer comes to answered(). */
static void send_one(wb_sender* self, wb_call call, const wb_job* job) {
  const wb_header headers[] = {{STR("Content-Type"), STR("application/json")}, {STR("Idempotency-Key"), job->idempotency_key}};
  char* url = url_in(job->destination);
  open_call* open = calloc(1, sizeof *open);
  wb_http_request request;
  if (!url || !open) {
    const wb_outcome said = outcome(WB_TRANSIENT, WB_NOT_SENT, "out_of_memory");
    free(url);
    free(open);
    self->host->complete(self->host, call, &said);
    return;
  }
  memset(&request, 0, sizeof request);
  request.size = sizeof request;
  request.method = str("POST");
  request.url = str(url);
  request.headers = headers;
  request.header_count = 2;
  request.body = job->payload;
  open->owner = self;
  open->call = call;
  open->next = self->open;
  self->open = open;
  open->fetch = self->http->fetch(self->host, call, &request, &answered, open); /* copies the request */
  free(url);
}

/* The host wants this call to end. answered() still comes, and completes it. */
static void cancel_one(wb_sender* self, wb_call call) {
  const open_call* open = self->open;
  while (open && open->call.id != call.id) open = open->next;
  if (open) self->http->abort(self->host, open->fetch);
}

static const void* no_extension(wb_sender* self, wb_str id) {
  (void)self;
  (void)id;
  return NULL;
}

static void destroy(wb_sender* self) { free(self); }

static const wb_sender_vt kTable = {send_one, cancel_one, no_extension, destroy};

/* No I/O. The settings are the operator's, senders.my_destination in waybill.yaml: none here. */
static wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user) {
  wb_sender* self = calloc(1, sizeof *self);
  (void)settings;
  if (!self) return report(user, str(""), str("out of memory")), NULL;
  self->host = host;
  self->http = host->get_service(host, str(WB_HTTP_SERVICE));
  if (!self->http) {
    report(user, str(""), str("this host has no service " WB_HTTP_SERVICE));
    free(self);
    return NULL;
  }
  *vt = &kTable;
  return self;
}

static const wb_action kAction = {.size = sizeof(wb_action),
                                  .reason_count = 2,
                                  .type = STR("my_destination"),
                                  .destination_schema = STR(DESTINATION),
                                  .reasons = kReasons,
                                  .create = create};
static const wb_action* const kActions[] = {&kAction};
static const wb_plugin kPlugin = {.size = sizeof(wb_plugin),
                                  .abi_minor = WB_ABI_MINOR,
                                  .id = STR("my_destination"),
                                  .version = STR("0.1.0"),
                                  .action_count = 1,
                                  .actions = kActions};

const wb_plugin* wb_plugin_v1(void) { return &kPlugin; }
