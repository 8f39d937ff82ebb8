// Stacks of threads of this process, as text.
#pragma once

#include <sys/types.h>

#include <string>

namespace waybill {

// What the thread is doing now: a frame a line, as `waybill(+0x1234)`, for addr2line. If it does not answer within two seconds,
// since it is stopped or cannot take signals, a sentence that says so. One call at a time. Uses signal kStackSignal.
std::string stack_of(pid_t thread);

// From now on a SIGABRT that comes from outside, as systemd's watchdog sends it, first writes the stacks of all threads on
// standard error. A handler that was there before runs afterwards.
void report_stacks_on_abort();

}  // namespace waybill
