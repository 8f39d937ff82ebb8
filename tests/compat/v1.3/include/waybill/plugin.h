/*
 * Waybill's plugin ABI, major version 1. This header and those that it includes are the specification.
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
 *               pointer has length 0. Arguments are borrowed until the call returns: copy what you keep. Only wb_job and
 *               wb_failure_query live longer: until their call is completed.
 *   Threads     [any]     may be called from any thread.
 *               [strand]  one thread at a time enters a sender. It must not block: everything slow is a service.
 *               A sender of an action with WB_BLOCKING owns a worker thread and may block until the deadline.
 *               The host may create several senders of one action type.
 *   Exceptions  never cross the boundary, in either direction.
 *   Secrets     never enter a plugin. Header values name them ("{secret:NAME}"); the services take their names.
 */
#ifndef WAYBILL_PLUGIN_H
#define WAYBILL_PLUGIN_H

#define WB_ABI_MAJOR 1
#define WB_ABI_MINOR 3

#include "waybill/abi/base.h"
#include "waybill/abi/descriptor.h"
#include "waybill/abi/host.h"
#include "waybill/abi/job.h"
#include "waybill/abi/outcome.h"
#include "waybill/abi/sender.h"

/* Services of the host: wb_host::get_service returns the table of one, if this host has it. */
#include "waybill/services/http.h"
#include "waybill/services/link.h"
#include "waybill/services/net_error.h"
#include "waybill/services/sign.h"
#include "waybill/services/smtp.h"
#include "waybill/services/template.h"
#include "waybill/services/timer.h"

/* Extensions: optional abilities of a sender (since minor 1). wb_sender_vt::get_extension returns the table of one, which is
 * constant and lives as long as the process. Each function of a table begins a call. As with send, the plugin completes that call
 * through wb_host::complete, the host may cancel it, and it may use services. */
#include "waybill/extensions/compose.h"
#include "waybill/extensions/failures.h"
#include "waybill/extensions/probe.h"
#include "waybill/extensions/status.h"

#endif
