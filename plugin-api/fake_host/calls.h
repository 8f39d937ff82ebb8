// How a host starts each kind of call.
#pragma once

#include "waybill/testkit/calls.hpp"

namespace waybill::fake_host {

const char* extension_of(testkit::CallKind kind);  // the id; "" for send, which every sender has

// `extension` is the table of that extension, unused for send; `query` is for failures.
void start_call(testkit::CallKind kind, wb_sender* sender, const wb_sender_vt& table, const void* extension, wb_call call,
                const wb_job* job, const wb_failure_query* query);

}  // namespace waybill::fake_host
