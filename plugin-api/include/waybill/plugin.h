/*
 * Waybill's plugin ABI, major version 1. This header is the specification.
 *
 * A plugin is one shared library that exports exactly one symbol, `wb_plugin_v1`, which returns a descriptor of the action
 * types it can send. The host owns claiming, state, audit and retries; a plugin turns one request into one outcome.
 *
 * Rules that hold everywhere below
 *   Versions    The major version is in the exported symbol. Minor versions are data: `abi_minor` is what a side was built
 *               against, `needs_minor` the least it must find. A struct without `size` never changes. A struct with `size`
 *               grows only at its end, has no tail padding and never sits in an array; ask WB_HAS before reading a field
 *               that came later than minor 0. Function tables never grow: new abilities are services and extensions, found
 *               by an id such as "waybill.http/1".
 *   Memory      Nobody frees what the other side allocated. Strings are pointer and length, UTF-8, not terminated; a null
 *               pointer goes with length 0. Arguments are borrowed until the call returns: copy what you keep. The one
 *               exception is wb_job, which lives until its call is completed.
 *   Threads     [any]     from any thread.
 *               [strand]  a sender is never entered by two threads at once. It must not block: everything slow is a service.
 *               A sender of an action flagged WB_BLOCKING owns its worker thread instead and may block until the deadline.
 *               The host may create several senders of one action type.
 *   Exceptions  never cross the boundary, in either direction.
 *   Secrets     never enter a plugin: header values may name them ("{secret:NAME}"), the sign service uses them by name.
 */
#ifndef WAYBILL_PLUGIN_H
#define WAYBILL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WB_NOEXCEPT noexcept
#else
#define WB_NOEXCEPT
#endif

#if defined(__GNUC__)
#define WB_EXPORT __attribute__((visibility("default")))
#else
#define WB_EXPORT
#endif

#define WB_ABI_MAJOR 1
#define WB_ABI_MINOR 2

/* True when the struct that `p` points to is long enough to hold `field`. */
#define WB_HAS(p, field) ((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field))

/* UTF-8, borrowed, not terminated. */
typedef struct wb_str {
  const char* ptr;
  size_t len;
} wb_str;

/* One execution of one delivery. The number is never reused, so a late use of it is a failed lookup and nothing worse. */
typedef struct wb_call {
  uint64_t id;
} wb_call;

/* ---- outcome: what a plugin says of one attempt ---- */

typedef int32_t wb_verdict; /* any other value counts as WB_TRANSIENT */
enum {
  WB_ACCEPTED = 1,  /* the receiver took responsibility */
  WB_REJECTED = 2,  /* the receiver refused; `reason` says why */
  WB_TRANSIENT = 3, /* no answer that counts; may be tried again */
  WB_DEFERRED = 4   /* nothing to do for now by the operator's choice (for example: no credentials configured) */
};

typedef int32_t wb_reach; /* how far the request got; any other value counts as WB_MAYBE_SENT */
enum {
  WB_NOT_SENT = 1,   /* no byte of the request left: a retry cannot duplicate */
  WB_MAYBE_SENT = 2, /* nobody knows */
  WB_ANSWERED = 3    /* the receiver answered */
};

typedef int32_t wb_scope; /* what the outcome says about the target; any other value counts as WB_THIS_JOB */
enum {
  WB_THIS_JOB = 1,
  WB_WHOLE_TARGET = 2 /* outage or bad credentials: the host rests the target */
};

/* Borrowed by the host until wb_host::complete returns. */
typedef struct wb_outcome {
  size_t size;
  wb_verdict verdict;
  wb_reach reach;
  wb_scope scope;
  int32_t code;           /* the protocol's own status (an HTTP status, an SMTP reply), 0 if there was none */
  int64_t retry_after_ms; /* the least time until a retry, as the receiver asked; -1 if it did not */
  wb_str reason;          /* for WB_REJECTED one of the action's declared reasons; else a short word such as "invalid_answer" */
  wb_str detail;          /* one line for people, at most 1,000 bytes are kept; never a secret */
  wb_str provider_ref;    /* the receiver's own id of what it accepted, if it gave one */
  wb_str result; /* JSON for the next stage; of a transient outcome: for this delivery's next attempt (wb_job::progress) */
  /* since minor 1 */
  wb_str artifact_type; /* of an accepted compose: the media type of what was made */
  wb_str artifact;      /* of an accepted compose: the bytes, 1 to WB_MOST_ARTIFACT_BYTES of them */
} wb_outcome;

#define WB_MOST_ARTIFACT_BYTES (1 << 20)

/* ---- job: what is to be sent. Lives until its call is completed. ---- */

typedef struct wb_job {
  size_t size;
  uint32_t attempt;           /* 1 for the first */
  uint32_t maybe_sent_before; /* 1 if an earlier attempt may have reached the receiver */
  int64_t deadline_ms;        /* how long this attempt may take, in milliseconds from the call of send */
  wb_str action_id;           /* the delivery's id, for logs */
  wb_str target;              /* the registry's name of the target */
  wb_str idempotency_key;     /* the same in every attempt of this delivery; at most 128 bytes of printable ASCII */
  wb_str destination;         /* JSON object, checked by validate_destination: {"url": ..., further fields of the target} */
  wb_str payload;             /* the bytes as the client handed them in; empty if it handed in none */
  wb_str context;             /* JSON object: {"org", "kind", "reference"} and what later kinds of submission add */
  /* since minor 1 */
  wb_str artifact_type; /* of a sender with "waybill.compose/1": what compose made of this delivery, in every send */
  wb_str artifact;
  wb_str provider_ref; /* for "waybill.status/1": the receiver's own id, as the accepted attempt gave it */
  /* since minor 2 */
  wb_str progress; /* JSON: the result of the last transient outcome of this delivery that had one; empty: there is none */
} wb_job;

/* ---- sender: made from an action with the operator's settings ---- */

typedef struct wb_sender wb_sender; /* opaque, the plugin's own */

typedef struct wb_sender_vt {
  /* [strand] Begin one attempt. Every call must be completed exactly once through wb_host::complete, from any thread, also
   * before send returns. A call that stays silent past its deadline is decided by the host: transient, maybe sent. */
  void (*send)(wb_sender* self, wb_call call, const wb_job* job);
  /* [strand] The host wants this call to end: abort what can be aborted and complete it soon. Never called for a call that
   * was completed before. */
  void (*cancel)(wb_sender* self, wb_call call);
  /* [strand] An optional ability by id, or null. */
  const void* (*get_extension)(wb_sender* self, wb_str id);
  /* [strand] The last call. No call of this sender is open then, no fetch and no timer. */
  void (*destroy)(wb_sender* self);
} wb_sender_vt;

typedef struct wb_host wb_host;

/* ---- the descriptor; all of it is constant and lives as long as the process ---- */

enum {                          /* wb_reason::flags */
       WB_REASON_PERMANENT = 1, /* trying the same again cannot help */
       WB_REASON_DUPLICATE = 2  /* the receiver says it has this idempotency key already: after an attempt that may have been
                                   sent, evidence of acceptance */
};

typedef struct wb_reason { /* one word of the outcome taxonomy; a contract's terminalOutcomes may list these */
  wb_str name;
  uint32_t flags;
  uint32_t reserved; /* 0 */
} wb_reason;

enum {                 /* wb_action::flags */
       WB_BLOCKING = 1 /* send may block; each sender gets a thread of its own */
};

/* Called once for each problem found; `path` is a JSON pointer into the checked value ("" is the whole). */
typedef void (*wb_report)(void* user, wb_str path, wb_str message);

typedef struct wb_action {
  size_t size;
  uint32_t flags;
  uint32_t reason_count;
  wb_str type;               /* the action type: [a-z][a-z0-9_]*, at most 64 bytes */
  wb_str settings_schema;    /* JSON Schema (draft 7) of the operator's settings; empty: no settings */
  wb_str destination_schema; /* JSON Schema of a target's destination, `url` included */
  const wb_reason* reasons;
  /* [any] Pure: no I/O, the same answer for the same bytes. Return 0 if good; otherwise report each problem and return
   * their number. Both are called after the schema was checked by the host; null means nothing more to check. */
  int32_t (*validate_settings)(wb_str settings, wb_report report, void* user);
  int32_t (*validate_destination)(wb_str destination, wb_report report, void* user);
  /* [any] Make a sender. No I/O. `settings` is the operator's JSON object ("{}" if none). Writes *vt and returns the sender,
   * or returns null after telling why through `report`. `host` outlives the sender. */
  wb_sender* (*create)(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user);
} wb_action;

typedef struct wb_plugin {
  size_t size;
  uint32_t abi_minor;   /* WB_ABI_MINOR this plugin was built against */
  uint32_t needs_minor; /* the least minor of a host that can run it */
  wb_str id;            /* reverse domain name or short name of the plugin */
  wb_str version;       /* its own version, free text */
  size_t action_count;
  const wb_action* const* actions;
} wb_plugin;

/* [any] The only exported symbol of a plugin. May be called several times and returns the same pointer. */
typedef const wb_plugin* (*wb_plugin_entry)(void);
WB_EXPORT const wb_plugin* wb_plugin_v1(void) WB_NOEXCEPT;

/* ---- host: what a sender can call ---- */

typedef struct wb_field { /* one field of a log event */
  wb_str key;
  wb_str value;
} wb_field;

enum { WB_LOG_DEBUG = 1, WB_LOG_INFO = 2, WB_LOG_WARN = 3, WB_LOG_ERROR = 4 };

struct wb_host {
  size_t size;
  uint32_t abi_minor; /* of the host; at least the plugin's needs_minor */
  uint32_t reserved;  /* 0 */
  wb_str name;        /* "waybill" */
  wb_str version;
  /* [any] A service by id, or null if this host has none of that name. */
  const void* (*get_service)(const wb_host* host, wb_str id);
  /* [any] End a call. Returns 0; or 1 if the call is unknown or already ended, in which case nothing happens but a log line. */
  int32_t (*complete)(const wb_host* host, wb_call call, const wb_outcome* outcome);
  /* [any] One log event. The host adds plugin, action type and call. `call.id` 0: not about a call. */
  void (*log)(const wb_host* host, wb_call call, int32_t level, wb_str text, const wb_field* fields, size_t field_count);
};

/* ---- service "waybill.http/1": asynchronous HTTP ---- */

#define WB_HTTP_SERVICE "waybill.http/1"

typedef struct wb_header {
  wb_str name;
  wb_str value;
} wb_header;

typedef struct wb_http_request {
  size_t size;
  uint32_t timeout_ms;         /* 0: until the call's deadline; never longer than that */
  uint32_t max_response_bytes; /* what is kept of the body; the rest is not read. 0: the host's default of 4,096 */
  wb_str method;               /* "POST" */
  wb_str url;                  /* http or https */
  const wb_header* headers;    /* values may contain {secret:NAME}; the host fills it in on the way out */
  size_t header_count;
  wb_str body;
  /* since minor 2: Basic authentication (RFC 7617); both are NAMES of the host's secrets, both empty: none */
  wb_str basic_user;
  wb_str basic_password;
} wb_http_request;

typedef int32_t wb_net_error;
enum {
  WB_NET_OK = 0,
  WB_NET_REFUSED = 1, /* the host did not try: bad URL, scheme, header, unknown secret, or address not allowed */
  WB_NET_RESOLVE = 2,
  WB_NET_CONNECT = 3,
  WB_NET_TLS = 4,
  WB_NET_TIMEOUT = 5,
  WB_NET_BROKEN = 6,   /* the connection broke, or what came was not HTTP */
  WB_NET_CANCELLED = 7 /* aborted, or its call ended */
};

/* Borrowed until `done` returns. */
typedef struct wb_http_response {
  size_t size;
  wb_net_error error;
  wb_reach reach;           /* worked out by the host from what was seen on the wire */
  int32_t status;           /* HTTP status, 0 if none came */
  uint32_t truncated;       /* 1: there was more body than max_response_bytes */
  int64_t retry_after_ms;   /* from Retry-After (seconds or date), -1 if there was none */
  const wb_header* headers; /* names in lower case */
  size_t header_count;
  wb_str body;
  wb_str error_text; /* one line for people, without secrets */
} wb_http_response;

typedef void (*wb_http_done)(void* user, const wb_http_response* response);

typedef struct wb_http_service {
  /* [strand] Begin a request on behalf of an open call. The request is copied. `done` is called exactly once, on the strand,
   * never before fetch returns. Redirects and proxies are off. Returns an id for abort. */
  uint64_t (*fetch)(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  /* [strand] End a request early; its `done` still comes, with WB_NET_CANCELLED. Unknown ids are ignored. */
  void (*abort)(const wb_host* host, uint64_t fetch_id);
} wb_http_service;

/* ---- service "waybill.timer/1": clocks that tests can turn ---- */

#define WB_TIMER_SERVICE "waybill.timer/1"

typedef struct wb_timer_service {
  /* [any] Milliseconds on a clock that only moves forward; only differences mean something. */
  int64_t (*monotonic_ms)(const wb_host* host);
  /* [any] Seconds since 1970-01-01 UTC, for timestamps that a protocol asks for. */
  int64_t (*unix_seconds)(const wb_host* host);
  /* [strand] Call `fire` once on the strand, not before `delay_ms` have passed, never before `after` returns. Returns an id.
   * A timer belongs to its call: when the call ends, the timer is gone without a word. */
  uint64_t (*after)(const wb_host* host, wb_call call, int64_t delay_ms, void (*fire)(void* user), void* user);
  /* [strand] Forget a timer; it will not fire. Unknown ids are ignored. */
  void (*cancel)(const wb_host* host, uint64_t timer_id);
} wb_timer_service;

/* ---- service "waybill.sign/1": signatures with secrets that only the host knows ---- */

#define WB_SIGN_SERVICE "waybill.sign/1"

enum { WB_SIGN_OK = 0, WB_SIGN_UNKNOWN_SECRET = 1 };

typedef struct wb_sign_service {
  /* [any] HMAC-SHA256 of the concatenated parts with each secret now valid under this name (two during a rotation, the newer
   * first): `sink` is called once for each with 32 bytes, before the function returns. A secret written as "whsec_" + base64
   * is used decoded. Returns WB_SIGN_OK or WB_SIGN_UNKNOWN_SECRET. */
  int32_t (*hmac_sha256)(const wb_host* host, wb_str secret_name, const wb_str* parts, size_t part_count,
                         void (*sink)(void* user, const uint8_t* mac, size_t mac_size), void* user);
} wb_sign_service;

/* ---- service "waybill.smtp/1": asynchronous SMTP submission (since minor 1) ---- */

#define WB_SMTP_SERVICE "waybill.smtp/1"

typedef int32_t wb_tls; /* of a relay named with smtp:// */
enum {
  WB_TLS_IF_OFFERED = 0, /* STARTTLS when the relay offers it, whoever signed its certificate: against listeners only */
  WB_TLS_REQUIRED = 1,   /* nothing is said before STARTTLS succeeded with a certificate for the relay's name */
  WB_TLS_NEVER = 2
};

typedef struct wb_smtp_message {
  size_t size;
  uint32_t timeout_ms; /* 0: until the call's deadline; never longer than that */
  wb_tls tls;
  wb_str relay;             /* "smtp://host[:port]" (25) or "smtps://host[:port]" (465, TLS from the first byte, checked) */
  wb_str user;              /* AUTH (PLAIN or LOGIN) with this name; empty: none */
  wb_str password;          /* with user: the NAME of the host's secret, never the password itself */
  wb_str from;              /* envelope sender "a@b", at most 320 bytes; empty: the null reverse-path */
  const wb_str* recipients; /* envelope recipients "a@b", 1 to 1,000 */
  size_t recipient_count;
  wb_str data; /* RFC 5322 message, at most 64 MiB, no CR or LF but in CRLF; the host stuffs dots and adds the end */
} wb_smtp_message;

typedef int32_t wb_smtp_stage; /* what a reply answered */
enum {
  WB_SMTP_NONE = 0,    /* no reply decided */
  WB_SMTP_CONNECT = 1, /* greeting, EHLO, STARTTLS */
  WB_SMTP_AUTH = 2,    /* with WB_NET_BROKEN and code 0: the relay offers no login that the host knows, and got no message */
  WB_SMTP_MAIL = 3,
  WB_SMTP_RCPT = 4,
  WB_SMTP_DATA = 5 /* DATA itself, or the end of the message: then it is the relay's last word */
};

/* What became of one recipient: the answer to its RCPT TO. An address with bytes outside ASCII is not asked for at a relay
 * without SMTPUTF8: it is answered for with 553 and "5.6.7 ...". */
typedef struct wb_smtp_recipient {
  int32_t code;      /* 250, 550, ...; 0: not asked */
  uint32_t reserved; /* 0 */
  wb_str text;       /* one line; it begins with the enhanced code ("5.1.1 ...") if the relay sent one */
} wb_smtp_recipient;

/* Borrowed until `done` returns. The message was taken for a recipient if error is WB_NET_OK, stage is WB_SMTP_DATA, `code` is
 * 2xx and that recipient's code is 2xx. Recipients that were refused do not keep the others from theirs. */
typedef struct wb_smtp_reply {
  size_t size;
  wb_net_error error;                  /* WB_NET_OK: the conversation ended in order, well or with a refusal */
  wb_reach reach;                      /* WB_ANSWERED: a reply decided; a refusal (not 2xx) says that nothing was taken.
                                        * WB_MAYBE_SENT only when all of the message's end was sent and no usable answer came */
  wb_smtp_stage stage;                 /* of the reply that decided */
  int32_t code;                        /* that reply's code, 0 if none came */
  wb_str text;                         /* that reply's text, one line, as in wb_smtp_recipient */
  const wb_smtp_recipient* recipients; /* in the order of the message's recipients; may be none with WB_NET_REFUSED */
  size_t recipient_count;
  wb_str error_text; /* one line for people, without secrets */
} wb_smtp_reply;

typedef void (*wb_smtp_done)(void* user, const wb_smtp_reply* reply);

typedef struct wb_smtp_service {
  /* [strand] Begin a submission on behalf of an open call. The message is copied. `done` is called exactly once, on the strand,
   * never before submit returns. Returns an id for abort. */
  uint64_t (*submit)(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user);
  /* [strand] End a submission early; its `done` still comes, with WB_NET_CANCELLED. Unknown ids are ignored. */
  void (*abort)(const wb_host* host, uint64_t submission_id);
} wb_smtp_service;

/* ---- service "waybill.template/1": the registry's templates (since minor 2) ---- */

#define WB_TEMPLATE_SERVICE "waybill.template/1"

enum { WB_TEMPLATE_OK = 0, WB_TEMPLATE_UNKNOWN = 1, WB_TEMPLATE_MALFORMED = 2 };

/* Called once for each part, before the function returns; `part` is "subject", "text" or "html". */
typedef void (*wb_template_part)(void* user, wb_str part, wb_str rendered);

/* Templates are mustache. `data` is a JSON object; a name that it lacks renders as nothing. In the part "html" values are
 * escaped. */
typedef struct wb_template_service {
  /* [any] Every part of a registry template, by its id. Returns WB_TEMPLATE_UNKNOWN if there is none, and calls nothing. */
  int32_t (*render)(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user);
  /* [any] A template that the plugin brings itself, such as a destination's subject; its one part is "text", nothing is escaped.
   */
  int32_t (*render_text)(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user);
} wb_template_service;

/* ---- service "waybill.link/1": time-limited URLs of stored objects (since minor 2) ---- */

#define WB_LINK_SERVICE "waybill.link/1"

enum { WB_LINK_OK = 0, WB_LINK_UNAVAILABLE = 1, WB_LINK_INVALID = 2 };

typedef struct wb_link_service {
  /* [any] A URL that gives whoever has it the object ("gs://bucket/key") for so long, at most seven days. `sink` is called once
   * before the function returns, if it returns WB_LINK_OK. WB_LINK_UNAVAILABLE: this host has no key to sign with.
   * WB_LINK_INVALID: no such kind of object, or no such time. */
  int32_t (*sign)(const wb_host* host, wb_str object_uri, int64_t ttl_seconds, void (*sink)(void* user, wb_str url), void* user);
} wb_link_service;

/* ---- extensions: optional abilities of a sender, found through get_extension (since minor 1) ----
 *
 * Each table is constant and lives as long as the process. Its functions begin a call, which is ended through wb_host::complete,
 * cancelled, and given services, like a call of send. */

/* "waybill.compose/1": bytes that are made once and sent in every attempt. */

#define WB_COMPOSE_EXTENSION "waybill.compose/1"

typedef struct wb_compose {
  /* [strand] Make what will be sent; nothing may leave yet. Asked before the first send of a delivery. Accepted with `artifact`:
   * the host stores it, and only when it is durable calls send, with the same bytes in the job of every attempt. It is asked
   * again only if a host died before that. Any other end is the end of the attempt, as if send had said it. */
  void (*compose)(wb_sender* self, wb_call call, const wb_job* job);
} wb_compose;

/* "waybill.status/1": what became of a delivery after the receiver had accepted it. */

#define WB_STATUS_EXTENSION "waybill.status/1"

typedef struct wb_status {
  /* [strand] Ask the receiver about job->provider_ref (or about job->idempotency_key, if it goes by that); change nothing there.
   * WB_ACCEPTED: it arrived. WB_REJECTED: it failed for good, and `reason` says why. WB_DEFERRED: it is still under way.
   * WB_TRANSIENT: the receiver could not be asked, or gave no usable answer. */
  void (*status)(wb_sender* self, wb_call call, const wb_job* job);
} wb_status;

/* "waybill.probe/1": whether a destination can be reached, without sending anything that counts. */

#define WB_PROBE_EXTENSION "waybill.probe/1"

typedef struct wb_probe {
  /* [strand] `job` has a destination and a target, and no payload. WB_ACCEPTED: it can be reached, and would take what we sent
   * (credentials included, as far as that can be asked). Any other end says what stands in the way. */
  void (*probe)(wb_sender* self, wb_call call, const wb_job* job);
} wb_probe;

/* "waybill.failures/1": what the receiver accepted and then failed to deliver. */

#define WB_FAILURES_EXTENSION "waybill.failures/1"

typedef struct wb_failure { /* borrowed by the host until wb_failure_query::failure returns */
  size_t size;
  int64_t failed_at;      /* seconds since 1970-01-01 UTC, 0 if the receiver does not say */
  wb_str provider_ref;    /* the receiver's own id */
  wb_str idempotency_key; /* ours, if the receiver keeps it */
  wb_str reason;          /* a short word, such as "permanent_failure" */
  wb_str detail;          /* one line for people; never a secret */
} wb_failure;

typedef struct wb_failure_query { /* lives until its call is completed */
  size_t size;
  int64_t since; /* seconds since 1970-01-01 UTC: failures from then on */
  wb_str page;   /* empty for the first page; then what the page before gave to next_page */
  /* [strand] While the call is open. Report each failure of this page; and, if there are more, what names the next page. */
  void (*failure)(void* user, const wb_failure* failure);
  void (*next_page)(void* user, wb_str page);
  void* user;
} wb_failure_query;

typedef struct wb_failures {
  /* [strand] List one page of failures at the job's destination. `job` has no payload. WB_ACCEPTED: the page is complete. */
  void (*list)(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query);
} wb_failures;

#ifdef __cplusplus
}
#endif
#endif
