/* Descriptor: what a plugin offers. It is constant and lives as long as the process. */
#ifndef WAYBILL_ABI_DESCRIPTOR_H
#define WAYBILL_ABI_DESCRIPTOR_H

#include "waybill/abi/sender.h"

#ifdef __cplusplus
extern "C" {
#endif

/* wb_reason::flags */
enum {
  WB_REASON_PERMANENT = 1, /* a retry cannot help */
  WB_REASON_DUPLICATE = 2  /* the destination already has this idempotency key; after an attempt that may have been sent, that
                              is evidence of acceptance */
};

/* A reason for WB_REJECTED; a contract's terminalOutcomes may list it. */
typedef struct wb_reason {
  wb_str name;
  uint32_t flags;
  uint32_t reserved; /* 0 */
} wb_reason;

/* wb_action::flags */
enum {
  WB_BLOCKING = 1 /* send may block; each sender gets a thread */
};

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
  /* since minor 4: JSON Schema (draft 7) of an intent's payload; empty: any payload. The host refuses an intent whose payload
   * does not match when it is handed in, and names the field. State only what no job could be sent without: the payload of a
   * form, and what older hosts stored, comes without this check. */
  wb_str payload_schema;
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

#ifdef __cplusplus
}
#endif
#endif
