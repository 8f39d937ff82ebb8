/* Service "waybill.smtp/1": asynchronous SMTP submission (since minor 1). */
#ifndef WAYBILL_SERVICES_SMTP_H
#define WAYBILL_SERVICES_SMTP_H

#include "waybill/abi/outcome.h"
#include "waybill/services/net_error.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  wb_str relay; /* "smtp://host[:port]" (25) or "smtps://host[:port]" (465, TLS from the first byte, checked) */
  /* AUTH (PLAIN or LOGIN) with this name; empty: none. With a user, the host takes every `tls` for WB_TLS_REQUIRED, unless the
   * operator said otherwise in the sender's settings (`tls`, or `insecure`); WB_TLS_NEVER is then refused. */
  wb_str user;
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

/* The reply to one recipient's RCPT TO. If an address has bytes outside ASCII and the relay has no SMTPUTF8, the host does not
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

#ifdef __cplusplus
}
#endif
#endif
