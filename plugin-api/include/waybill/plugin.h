/*
 * Waybill's plugin ABI, major version 1. This header is the specification.
 *
 * A plugin is a shared library that exports one symbol, `wb_plugin_v1`. That function returns a descriptor of the action types
 * that the plugin can send. The host claims, retries, records and audits; the plugin turns one job into one outcome.
 *
 * Rules for everything below
 *   Versions    The exported symbol contains the major version. Minor versions are data: `abi_minor` is what a side was built
 *               against, `needs_minor` the oldest that it can work with. A struct without `size` never changes. A struct with
 *               `size` grows only at its end, has no tail padding and is never an array element: check WB_HAS before you read a
 *               field that came after minor 0. Function tables never grow. New abilities are services and extensions with ids
 *               such as "waybill.http/1".
 *   Memory      Neither side frees what the other allocated. A string is pointer and length, UTF-8, not terminated; a null
 *               pointer has length 0. Arguments are borrowed until the call returns: copy what you keep. Only wb_job lives
 *               longer: until its call is completed.
 *   Threads     [any]     may be called from any thread.
 *               [strand]  one thread at a time enters a sender. It must not block: everything slow is a service.
 *               A sender of an action with WB_BLOCKING owns a worker thread and may block until the deadline.
 *               The host may create several senders of one action type.
 *   Exceptions  never cross the boundary, in either direction.
 *   Secrets     never enter a plugin. Header values name them ("{secret:NAME}"); the sign service takes their names.
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

/* True if the struct at `p` is long enough to hold `field`. */
#define WB_HAS(p, field) ((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field))

/* UTF-8, borrowed, not terminated. */
typedef struct wb_str {
  const char* ptr;
  size_t len;
} wb_str;

/* One execution of one delivery. Numbers are never reused, so a late use is only a failed lookup. */
typedef struct wb_call {
  uint64_t id;
} wb_call;

/* ---- outcome: a plugin's report of one attempt ---- */

typedef int32_t wb_verdict; /* any other value counts as WB_TRANSIENT */
enum {
  WB_ACCEPTED = 1,  /* the destination took responsibility */
  WB_REJECTED = 2,  /* the destination refused; `reason` says why */
  WB_TRANSIENT = 3, /* no usable answer; may be tried again */
  WB_DEFERRED = 4   /* nothing to do, by the operator's choice (such as no credentials). Ends a form's action; an intent's
                       attempt counts, and its contract decides on a retry */
};

typedef int32_t wb_reach; /* how far the request got; any other value counts as WB_MAYBE_SENT */
enum {
  WB_NOT_SENT = 1,   /* no byte of the request left: a retry cannot duplicate */
  WB_MAYBE_SENT = 2, /* unknown */
  WB_ANSWERED = 3    /* the destination answered */
};

typedef int32_t wb_scope; /* what failed; any other value counts as WB_THIS_JOB */
enum {
  WB_THIS_JOB = 1,
  WB_WHOLE_TARGET = 2 /* an outage, or bad credentials: the target cools down */
};

/* Borrowed by the host until wb_host::complete returns. */
typedef struct wb_outcome {
  size_t size;
  wb_verdict verdict;
  wb_reach reach;
  wb_scope scope;
  int32_t code;           /* the protocol's own status (an HTTP status, an SMTP reply), 0 if there was none */
  int64_t retry_after_ms; /* the destination's minimum wait before a retry; -1 if it named none */
  wb_str reason;          /* for WB_REJECTED a declared reason of the action; else a short word such as "invalid_answer" */
  wb_str detail;          /* one line for people, cut at 1,000 bytes; never a secret */
  wb_str provider_ref;    /* the destination's id of what it accepted, if it returned one */
  wb_str result;          /* JSON, recorded with the end; of a transient outcome: wb_job::progress of the next attempt */
  /* since minor 1 */
  wb_str artifact_type; /* of an accepted compose: the media type of the artifact */
  wb_str artifact;      /* of an accepted compose: 1 to WB_MOST_ARTIFACT_BYTES bytes */
} wb_outcome;

#define WB_MOST_ARTIFACT_BYTES (1 << 20)

/* ---- job: what to send. Lives until its call is completed. ---- */

typedef struct wb_job {
  size_t size;
  uint32_t attempt;           /* 1 for the first */
  uint32_t maybe_sent_before; /* 1 if an earlier attempt may have reached the destination */
  int64_t deadline_ms;        /* how long this attempt may take, from the call of send */
  wb_str action_id;           /* the delivery's id, for logs */
  wb_str target;              /* the registry's name of the target */
  wb_str idempotency_key;     /* the same in every attempt of this delivery; at most 128 bytes of printable ASCII */
  wb_str destination;         /* JSON object, checked by validate_destination: {"url": ..., further fields of the target} */
  wb_str payload;             /* the client's bytes, unchanged; empty if there were none */
  wb_str context;             /* JSON object: {"org", "kind", "reference"}, and more for other kinds of submission */
  /* since minor 1 */
  wb_str artifact_type; /* with "waybill.compose/1": what compose made of this delivery, the same in every send */
  wb_str artifact;
  wb_str provider_ref; /* for "waybill.status/1": the provider_ref of the accepted attempt */
  /* since minor 2 */
  wb_str progress; /* JSON: the latest `result` of a transient outcome of this delivery; empty if none */
} wb_job;

/* ---- sender: created from an action with the operator's settings ---- */

typedef struct wb_sender wb_sender; /* opaque, the plugin's own */

typedef struct wb_sender_vt {
  /* [strand] Begin one attempt. Complete every call exactly once through wb_host::complete, from any thread, possibly before
   * send returns. The host decides a call that stays silent past its deadline: transient, maybe sent. */
  void (*send)(wb_sender* self, wb_call call, const wb_job* job);
  /* [strand] Abort this call if possible, and complete it soon. Never called for a completed call. */
  void (*cancel)(wb_sender* self, wb_call call);
  /* [strand] Return the table of an optional ability, or null. */
  const void* (*get_extension)(wb_sender* self, wb_str id);
  /* [strand] The last call: the sender has no open call, fetch or timer. */
  void (*destroy)(wb_sender* self);
} wb_sender_vt;

typedef struct wb_host wb_host;

/* ---- descriptor: constant, lives as long as the process ---- */

enum {                          /* wb_reason::flags */
       WB_REASON_PERMANENT = 1, /* a retry cannot help */
       WB_REASON_DUPLICATE = 2  /* the destination has this idempotency key already; after an attempt that may have been
                                   sent, that is evidence of acceptance */
};

typedef struct wb_reason { /* a reason for WB_REJECTED; a contract's terminalOutcomes may list it */
  wb_str name;
  uint32_t flags;
  uint32_t reserved; /* 0 */
} wb_reason;

enum {                 /* wb_action::flags */
       WB_BLOCKING = 1 /* send may block; each sender gets a thread */
};

/* Called once for each problem; `path` is a JSON pointer into the checked value ("" is the whole). */
typedef void (*wb_report)(void* user, wb_str path, wb_str message);

typedef struct wb_action {
  size_t size;
  uint32_t flags;
  uint32_t reason_count;
  wb_str type;               /* the action type: [a-z][a-z0-9_]*, at most 64 bytes */
  wb_str settings_schema;    /* JSON Schema (draft 7) of the settings; empty: no settings */
  wb_str destination_schema; /* JSON Schema of a target's destination, `url` included */
  const wb_reason* reasons;
  /* [any] Pure: no I/O, the same answer for the same bytes. Report each problem and return their number; 0 is good. The host
   * checks the schema before it calls either. Null: nothing more to check. */
  int32_t (*validate_settings)(wb_str settings, wb_report report, void* user);
  int32_t (*validate_destination)(wb_str destination, wb_report report, void* user);
  /* [any] Create a sender. No I/O. `settings` is the operator's JSON object ("{}" if none). Write *vt and return the sender, or
   * report why not and return null. `host` outlives the sender. */
  wb_sender* (*create)(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report report, void* user);
} wb_action;

typedef struct wb_plugin {
  size_t size;
  uint32_t abi_minor;   /* the WB_ABI_MINOR that this plugin was built against */
  uint32_t needs_minor; /* the oldest minor of a host that can run it */
  wb_str id;            /* reverse domain name or short name of the plugin */
  wb_str version;       /* its own version, free text */
  size_t action_count;
  const wb_action* const* actions;
} wb_plugin;

/* [any] The only exported symbol of a plugin. May be called several times; returns the same pointer each time. */
typedef const wb_plugin* (*wb_plugin_entry)(void);
WB_EXPORT const wb_plugin* wb_plugin_v1(void) WB_NOEXCEPT;

/* ---- host: what a sender may call ---- */

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
  /* [any] A service by id, or null if this host does not have it. */
  const void* (*get_service)(const wb_host* host, wb_str id);
  /* [any] Complete a call. Returns 0; or 1 if the call is unknown or has ended, which is only logged. */
  int32_t (*complete)(const wb_host* host, wb_call call, const wb_outcome* outcome);
  /* [any] Write one log event. The host adds plugin, action type and call. `call.id` 0: about no call. */
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
  uint32_t timeout_ms;         /* 0: until the call's deadline; never longer */
  uint32_t max_response_bytes; /* the body is read up to this; 0: the default of 4,096 */
  wb_str method;               /* "POST" */
  wb_str url;                  /* http or https */
  const wb_header* headers;    /* the host replaces {secret:NAME} in values on the way out */
  size_t header_count;
  wb_str body;
  /* since minor 2: Basic authentication (RFC 7617). Both are NAMES of the host's secrets; both empty: none */
  wb_str basic_user;
  wb_str basic_password;
} wb_http_request;

typedef int32_t wb_net_error;
enum {
  WB_NET_OK = 0,
  WB_NET_REFUSED = 1, /* not tried: bad URL, scheme or header, unknown secret, or address not allowed */
  WB_NET_RESOLVE = 2,
  WB_NET_CONNECT = 3,
  WB_NET_TLS = 4,
  WB_NET_TIMEOUT = 5,
  WB_NET_BROKEN = 6,   /* the connection broke, or the answer was not HTTP */
  WB_NET_CANCELLED = 7 /* aborted, or its call ended */
};

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

/* ---- service "waybill.timer/1": clocks and timers that tests can control ---- */

#define WB_TIMER_SERVICE "waybill.timer/1"

typedef struct wb_timer_service {
  /* [any] Milliseconds on a monotonic clock; only differences have a meaning. */
  int64_t (*monotonic_ms)(const wb_host* host);
  /* [any] Seconds since 1970-01-01 UTC, for timestamps in protocols. */
  int64_t (*unix_seconds)(const wb_host* host);
  /* [strand] Call `fire` once on the strand, after `delay_ms` or later, never before `after` returns. Returns an id for cancel.
   * When its call ends, the timer is dropped. */
  uint64_t (*after)(const wb_host* host, wb_call call, int64_t delay_ms, void (*fire)(void* user), void* user);
  /* [strand] Drop a timer; it will not fire. Unknown ids are ignored. */
  void (*cancel)(const wb_host* host, uint64_t timer_id);
} wb_timer_service;

/* ---- service "waybill.sign/1": signatures with the host's secrets ---- */

#define WB_SIGN_SERVICE "waybill.sign/1"

enum { WB_SIGN_OK = 0, WB_SIGN_UNKNOWN_SECRET = 1 };

typedef struct wb_sign_service {
  /* [any] HMAC-SHA256 of the concatenated parts, with each secret that is valid under this name (two during a rotation, newer
   * first). Calls `sink` with 32 bytes for each before it returns. A secret written as "whsec_" + base64 is decoded first.
   * Returns WB_SIGN_OK or WB_SIGN_UNKNOWN_SECRET. */
  int32_t (*hmac_sha256)(const wb_host* host, wb_str secret_name, const wb_str* parts, size_t part_count,
                         void (*sink)(void* user, const uint8_t* mac, size_t mac_size), void* user);
} wb_sign_service;

/* ---- service "waybill.smtp/1": asynchronous SMTP submission (since minor 1) ---- */

#define WB_SMTP_SERVICE "waybill.smtp/1"

typedef int32_t wb_tls; /* of a relay named with smtp:// */
enum {
  WB_TLS_IF_OFFERED = 0, /* STARTTLS if the relay offers it, with any certificate: protects from eavesdroppers only */
  WB_TLS_REQUIRED = 1,   /* nothing is sent before STARTTLS succeeded with a certificate for the relay's name */
  WB_TLS_NEVER = 2
};

typedef struct wb_smtp_message {
  size_t size;
  uint32_t timeout_ms; /* 0: until the call's deadline; never longer */
  wb_tls tls;
  wb_str relay;             /* "smtp://host[:port]" (25) or "smtps://host[:port]" (465, TLS from the first byte, checked) */
  wb_str user;              /* AUTH (PLAIN or LOGIN) with this name; empty: none */
  wb_str password;          /* with user: the NAME of the host's secret, not the password */
  wb_str from;              /* envelope sender "a@b", at most 320 bytes; empty: the null reverse-path */
  const wb_str* recipients; /* envelope recipients "a@b", 1 to 1,000 */
  size_t recipient_count;
  wb_str data; /* RFC 5322 message, at most 64 MiB, CR and LF only as CRLF; the host stuffs dots and adds the end */
} wb_smtp_message;

typedef int32_t wb_smtp_stage; /* what a reply answered */
enum {
  WB_SMTP_NONE = 0,    /* no reply decided */
  WB_SMTP_CONNECT = 1, /* greeting, EHLO, STARTTLS */
  WB_SMTP_AUTH = 2,    /* with WB_NET_BROKEN and code 0: the relay offers no login that the host supports; nothing was sent */
  WB_SMTP_MAIL = 3,
  WB_SMTP_RCPT = 4,
  WB_SMTP_DATA = 5 /* DATA itself, or the end of the message, which is the final reply */
};

/* The reply to one recipient's RCPT TO. For an address with bytes outside ASCII at a relay without SMTPUTF8, the host does not
 * ask and answers 553 "5.6.7 ..." itself. */
typedef struct wb_smtp_recipient {
  int32_t code;      /* 250, 550, ...; 0: not asked */
  uint32_t reserved; /* 0 */
  wb_str text;       /* one line, with the enhanced code ("5.1.1 ...") first if the relay sent one */
} wb_smtp_recipient;

/* Borrowed until `done` returns. The relay accepted the message for a recipient if error is WB_NET_OK, stage is WB_SMTP_DATA, and
 * both `code` and the recipient's code are 2xx. A refused recipient does not affect the others. */
typedef struct wb_smtp_reply {
  size_t size;
  wb_net_error error;                  /* WB_NET_OK: the conversation ended in order, accepted or refused */
  wb_reach reach;                      /* WB_ANSWERED: a reply decided; with a refusal (not 2xx) nothing was accepted.
                                        * WB_MAYBE_SENT only if the whole end of the message was sent and no usable answer came */
  wb_smtp_stage stage;                 /* of the deciding reply */
  int32_t code;                        /* that reply's code, 0 if none came */
  wb_str text;                         /* that reply's text, one line, as in wb_smtp_recipient */
  const wb_smtp_recipient* recipients; /* in the order of the message's; may be none with WB_NET_REFUSED */
  size_t recipient_count;
  wb_str error_text; /* one line for people, without secrets */
} wb_smtp_reply;

typedef void (*wb_smtp_done)(void* user, const wb_smtp_reply* reply);

typedef struct wb_smtp_service {
  /* [strand] Begin a submission for an open call; returns an id for abort. The host copies the message. It calls `done` exactly
   * once, on the strand, never before submit returns. */
  uint64_t (*submit)(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user);
  /* [strand] End a submission early. Its `done` is still called, with WB_NET_CANCELLED. Unknown ids are ignored. */
  void (*abort)(const wb_host* host, uint64_t submission_id);
} wb_smtp_service;

/* ---- service "waybill.template/1": the registry's templates (since minor 2) ---- */

#define WB_TEMPLATE_SERVICE "waybill.template/1"

enum { WB_TEMPLATE_OK = 0, WB_TEMPLATE_UNKNOWN = 1, WB_TEMPLATE_MALFORMED = 2 };

/* Called once for each part, before the function returns; `part` is "subject", "text" or "html". */
typedef void (*wb_template_part)(void* user, wb_str part, wb_str rendered);

/* Mustache templates. `data` is a JSON object; a missing name renders as nothing. Values in the part "html" are escaped. */
typedef struct wb_template_service {
  /* [any] Render every part of a registry template. WB_TEMPLATE_UNKNOWN: there is none of this id, and `part` is not called. */
  int32_t (*render)(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user);
  /* [any] Render a template of the plugin's own, such as a destination's subject. Its only part is "text", unescaped. */
  int32_t (*render_text)(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user);
} wb_template_service;

/* ---- service "waybill.link/1": time-limited URLs of stored objects (since minor 2) ---- */

#define WB_LINK_SERVICE "waybill.link/1"

enum { WB_LINK_OK = 0, WB_LINK_UNAVAILABLE = 1, WB_LINK_INVALID = 2 };

typedef struct wb_link_service {
  /* [any] Sign a URL that gives access to the object ("gs://bucket/key") for `ttl_seconds`, at most seven days. With WB_LINK_OK
   * `sink` was called once. WB_LINK_UNAVAILABLE: this host has no key. WB_LINK_INVALID: unsupported object or time. */
  int32_t (*sign)(const wb_host* host, wb_str object_uri, int64_t ttl_seconds, void (*sink)(void* user, wb_str url), void* user);
} wb_link_service;

/* ---- extensions: optional abilities of a sender, found through get_extension (since minor 1) ----
 *
 * Each table is constant and lives as long as the process. Each function begins a call. As with send, the call is completed
 * through wb_host::complete, may be cancelled, and may use services. */

/* "waybill.compose/1": make bytes once and send them in every attempt. */

#define WB_COMPOSE_EXTENSION "waybill.compose/1"

typedef struct wb_compose {
  /* [strand] Called before the first send of a delivery. Make the bytes and complete with WB_ACCEPTED and `artifact`; send
   * nothing. The host stores the artifact, then calls send with the same bytes in the job of every attempt. It composes again
   * only if a host died before the artifact was stored. Any other outcome ends the attempt, as if send had returned it. */
  void (*compose)(wb_sender* self, wb_call call, const wb_job* job);
} wb_compose;

/* "waybill.status/1": what happened to a delivery after the destination accepted it. */

#define WB_STATUS_EXTENSION "waybill.status/1"

typedef struct wb_status {
  /* [strand] Ask the destination about job->provider_ref (or job->idempotency_key, if it uses that); change nothing there.
   * WB_ACCEPTED: it arrived. WB_REJECTED: it failed for good, `reason` says why. WB_DEFERRED: it is still under way.
   * WB_TRANSIENT: no usable answer. */
  void (*status)(wb_sender* self, wb_call call, const wb_job* job);
} wb_status;

/* "waybill.probe/1": whether a destination can be reached, without sending anything real. */

#define WB_PROBE_EXTENSION "waybill.probe/1"

typedef struct wb_probe {
  /* [strand] `job` has a destination and a target, and no payload. WB_ACCEPTED: the destination can be reached and would accept a
   * message (with these credentials, as far as that can be checked). Any other outcome names the obstacle. */
  void (*probe)(wb_sender* self, wb_call call, const wb_job* job);
} wb_probe;

/* "waybill.failures/1": what the destination accepted and then failed to deliver. */

#define WB_FAILURES_EXTENSION "waybill.failures/1"

typedef struct wb_failure { /* borrowed by the host until wb_failure_query::failure returns */
  size_t size;
  int64_t failed_at;      /* seconds since 1970-01-01 UTC, 0 if unknown */
  wb_str provider_ref;    /* the destination's own id */
  wb_str idempotency_key; /* ours, if the destination keeps it */
  wb_str reason;          /* a short word, such as "permanent_failure" */
  wb_str detail;          /* one line for people; never a secret */
} wb_failure;

typedef struct wb_failure_query { /* lives until its call is completed */
  size_t size;
  int64_t since; /* seconds since 1970-01-01 UTC: list failures from then on */
  wb_str page;   /* empty for the first page; then what the previous page passed to next_page */
  /* [strand] Call while the call is open: `failure` for each one of this page; `next_page` with a name for the next, if any. */
  void (*failure)(void* user, const wb_failure* failure);
  void (*next_page)(void* user, wb_str page);
  void* user;
} wb_failure_query;

typedef struct wb_failures {
  /* [strand] List one page of failures of the job's destination. `job` has no payload. WB_ACCEPTED: the page is complete. */
  void (*list)(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query);
} wb_failures;

#ifdef __cplusplus
}
#endif
#endif
